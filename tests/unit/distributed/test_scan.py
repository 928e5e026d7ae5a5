import json
from dataclasses import asdict
from functools import reduce

import pytest

from sgi.distributed.fragments import split_file
from sgi.distributed.scan import FragmentScan, scan_fragment, select_metrics
from sgi.distributed.storage import find_sources
from sgi.engine.plan import plan
from sgi.io.column_use import ColumnUse
from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, UsageError

ROWS = [
    {"response": f"answer {n}", "reference": "b"} | ({"question": "Who?"} if n == 7 else {}) for n in range(9)
]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def surveyed(data, *, size=90, columns=None, skipping=False):
    fragments = [fragment for source in find_sources(str(data)) for fragment in split_file(source, size)]
    return fragments, [scan_fragment(fragment, columns, skipping=skipping) for fragment in fragments]


def chosen(data, metrics=None, *, columns=None, skipping=False):
    fragments, found = surveyed(data, columns=columns, skipping=skipping)
    assert len(fragments) > 1
    return select_metrics("rows", fragments, found, metrics, (), skipping=skipping)


def test_the_surveys_together_know_what_a_plan_knows(tmp_path):
    path = write(tmp_path / "rows.jsonl", ROWS)
    whole = plan(open_dataset(path))
    _, found = surveyed(path)
    assert sum(part.rows for part in found) == whole.rows == 9
    assert sum(part.present.get("question", 0) for part in found) == 1
    assert chosen(path) == whole.metrics
    assert reduce(ColumnUse.merge, (ColumnUse.from_dict(part.use) for part in found)) == whole.columns


def test_a_survey_survives_json_and_plans_its_fragment(tmp_path):
    path = write(tmp_path / "rows.jsonl", ROWS)
    (fragment,), (found,) = surveyed(path, size=10**6)
    again = FragmentScan.from_dict(json.loads(json.dumps(asdict(found))))
    assert again == found
    assert again.plan(fragment, ()).digests == plan(open_dataset(path)).digests


def test_the_digest_tells_contents_apart(tmp_path):
    digests = set()
    for n, change in enumerate([{}, {"response": "other"}, {"metadata": {"a": 1}}, {"question": ""}]):
        path = write(tmp_path / f"{n}.jsonl", [ROWS[0] | change])
        digests.add(surveyed(path)[1][0].digest)
    assert len(digests) == 4


def test_rows_of_several_files_have_ids_of_their_own(tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.jsonl", ROWS)
    assert chosen(tmp_path, ["rouge_l"])[0].canonical == "rouge_l"


def test_the_first_bad_row_is_told_whichever_fragment_it_is_in(tmp_path):
    path = write(tmp_path / "rows.jsonl", [*ROWS, {"response": 3}, {"response": [4]}])
    with pytest.raises(DataError, match=r"rows.jsonl:10: .*field 'response'"):
        chosen(path)
    with pytest.raises(DataError, match=r"can be read; the first: .*rows.jsonl:1:"):
        chosen(write(path, [{"response": [n]} for n in range(20)]), skipping=True)


def test_a_mapped_column_may_stand_in_one_fragment_alone(tmp_path):
    path = write(tmp_path / "rows.jsonl", [*ROWS, {"response": "a", "reference": "b", "asked": "Who?"}])
    assert chosen(path, ["rouge_l"], columns={"question": "asked"})
    with pytest.raises(DataError, match="nowhere"):
        chosen(path, ["rouge_l"], columns={"question": "nowhere"})


def test_what_no_row_has_is_refused(tmp_path):
    path = write(tmp_path / "rows.jsonl", ROWS)
    with pytest.raises(UsageError, match="sgi needs contexts"):
        chosen(path, ["sgi"])


def test_blank_lines_alone_are_nothing_to_score(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n" * 200)
    with pytest.raises(DataError, match="has no rows"):
        chosen(path)
