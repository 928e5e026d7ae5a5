import json

import pytest

from sgi.distributed.deduplicate_ids import deduplicate_ids
from sgi.distributed.error_codec import decode_error
from sgi.distributed.fragments import FragmentDataset, split_file
from sgi.distributed.scan import scan_fragment
from sgi.distributed.storage import find_sources
from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError

IDS = ["a", "b", "c", "a", "d", "b", "a", "e", "e", "f"]


def write(path, ids):
    lines = [
        json.dumps({"id": name, "response": f"answer {n}", "reference": "b"}) for n, name in enumerate(ids)
    ]
    path.write_text("\n".join(lines))
    return path


def found_in(data, size, *, skipping):
    fragments = [fragment for source in find_sources(str(data)) for fragment in split_file(source, size)]
    scans = [scan_fragment(fragment, {}, skipping=skipping) for fragment in fragments]
    return fragments, deduplicate_ids(fragments, scans, {}, map, skipping=skipping)


@pytest.mark.parametrize("size", [1, 60, 130, 200, 10**6])
def test_a_row_whose_id_stands_before_is_passed_over_however_the_data_is_cut(tmp_path, size):
    path = write(tmp_path / "rows.jsonl", IDS)
    refused = []
    whole = list(open_dataset(path).samples(on_reject=refused.append))
    fragments, scans = found_in(path, size, skipping=True)
    samples, also_refused = [], []
    for fragment, found in zip(fragments, scans, strict=True):
        samples += FragmentDataset(fragment, {}, found.taken).samples(on_reject=also_refused.append)
    assert samples == whole
    assert [(str(row.error), row.row) for row in also_refused] == [
        (str(row.error), row.row) for row in refused
    ]
    assert sum(found.rows for found in scans) == len(whole) == 6
    assert sum(found.rejected for found in scans) == 4


@pytest.mark.parametrize("size", [1, 60, 130, 10**6])
@pytest.mark.parametrize("broken", [None, 2, 4])
def test_the_first_error_is_that_of_one_process(tmp_path, size, broken):
    path = write(tmp_path / "rows.jsonl", IDS)
    lines = path.read_text().splitlines()
    if broken is not None:
        lines[broken] = "{broken"
        path.write_text("\n".join(lines))
    with pytest.raises(DataError) as alone:
        list(open_dataset(path).samples())
    _, scans = found_in(path, size, skipping=False)
    assert str(decode_error(next(found.error for found in scans if found.error))) == str(alone.value)


def test_the_place_of_the_first_is_told_over_several_files(tmp_path):
    for name in "xy":
        write(tmp_path / f"{name}.jsonl", ["1", name])
    _, (_, second) = found_in(tmp_path, 10**6, skipping=False)
    assert str(decode_error(second.error)).startswith(
        f"{tmp_path}/y.jsonl:1: id '1': field 'id': {tmp_path}/x.jsonl:1 has the same id."
    )


@pytest.mark.parametrize("skipping", [False, True])
def test_ids_that_share_no_more_than_a_hash_are_both_taken(tmp_path, monkeypatch, skipping):
    monkeypatch.setattr("sgi.distributed.scan.id_hash", lambda _: b"the same")
    path = write(tmp_path / "rows.jsonl", ["a", "b", "c", "d"])
    fragments, scans = found_in(path, 1, skipping=skipping)
    assert len(fragments) == 4
    assert [(found.rows, found.error, dict(found.taken)) for found in scans] == [(1, None, {})] * 4
