import json

import pytest

from sgi.distributed.error_codec import decode_error, encode_error
from sgi.distributed.fragments import FragmentDataset, split_file
from sgi.distributed.manifest import FragmentRecord, RunManifest
from sgi.distributed.partition import Manifest, partition_name, read_partition
from sgi.distributed.scan import scan_fragment
from sgi.distributed.storage import Folder, find_sources
from sgi.distributed.worker import Settings, Task, Worker, share_judge
from sgi.kernel import errors
from sgi.llm.spec import JudgeSpec
from support.partitions import partition_lines, sgi


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    made = [{"response": f"answer {n}", "reference": "answer", "label": n % 2} for n in range(40)]
    lines = [json.dumps(row).encode() for row in made]
    lines[17], lines[30] = b"{broken", b'{"response": "no reference \xe2\x80\xa8 here"}'
    path.write_bytes(b"\n".join(lines))
    return path


@pytest.fixture
def tasks(rows):
    (source,) = find_sources(str(rows))
    fragments = list(split_file(source, 500))
    return [
        Task(n, partition_name(n), fragment, scan_fragment(fragment, None, skipping=True))
        for n, fragment in enumerate(fragments)
    ]


@pytest.fixture
def folder(tmp_path):
    made = Folder(str(tmp_path / "parts"))
    made.make()
    return made


@pytest.fixture
def worker(rows, folder):
    spec = {"data": str(rows), "metrics": ["rouge_l", "content_f1"], "on_error": "skip", "out": folder.text}
    made = Worker(Settings(spec, "run", folder.text, cache=False, workers=2, threads=1))
    yield made
    made.close()


def scored(worker, tasks):
    return [Manifest.from_values(json.loads(worker.score(task.to_json()))["manifest"]) for task in tasks]


def test_a_worker_writes_what_one_process_writes_also_of_bad_rows(worker, tasks, rows, tmp_path):
    made = scored(worker, tasks)
    assert len(made) > 3
    alone = tmp_path / "alone.jsonl"
    words = ["-m", "rouge_l,content_f1", "--on-error", "skip", "--no-store", "-q"]
    sgi("run", rows, *words, "-o", alone, code=3)
    assert partition_lines(tmp_path / "parts") == alone.read_bytes()
    assert (
        partition_lines(tmp_path / "parts", ".rejected") == (tmp_path / "alone.rejected.jsonl").read_bytes()
    )
    assert (sum(part.rows for part in made), sum(part.rejected for part in made)) == (39, 1)


@pytest.mark.parametrize("long_texts", ["windows", "truncate"])
def test_a_worker_reads_long_texts_as_the_run_says(long_texts, folder, tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"question": "Who wrote Emma?", "response": "Emma is a novel. " * 200}))
    spec = {"data": str(path), "metrics": ["theta_rq"], "out": folder.text, "long_texts": long_texts}
    worker = Worker(Settings(spec, "run", folder.text, cache=False, workers=1, threads=1))
    (source,) = find_sources(str(path))
    (fragment,) = split_file(source, 100_000)
    task = Task(0, partition_name(0), fragment, scan_fragment(fragment, None, skipping=False))
    (manifest,) = scored(worker, [task])
    worker.close()
    (batch,) = manifest.batches
    expected = {"windows": ({"response": 1}, {}), "truncate": ({}, {"response": 1})}
    assert (batch.windowed, batch.truncated) == expected[long_texts]
    dataset = FragmentDataset(fragment)
    ((_, made, _),) = read_partition(folder, task.name, manifest, dataset, ["theta_rq"])
    assert (made.windowed, made.truncated) == expected[long_texts]


def test_what_a_partition_holds_is_read_as_the_worker_had_it(worker, tasks, folder):
    manifests = scored(worker, tasks)
    for task, manifest in zip(tasks, manifests, strict=True):
        run_manifest = Manifest.of(folder.read(f"{task.name}.json"), task.name)
        assert run_manifest == manifest
        dataset = FragmentDataset(task.fragment)
        ((batch, made, evidence),) = read_partition(folder, task.name, run_manifest, dataset, ["rouge_l"])
        assert (len(batch), evidence) == (manifest.rows, {})
        lacking = sum(sample.reference is None for sample in batch.samples)
        assert made.scores["rouge_l"].ok.sum() == manifest.rows - lacking


def test_rows_of_other_data_are_refused(worker, tasks, folder, rows):
    (manifest, *_) = scored(worker, tasks)
    rows.write_bytes(rows.read_bytes().replace(b"answer 1", b"changed!", 1))
    dataset = FragmentDataset(tasks[0].fragment)
    with pytest.raises(errors.StoreError, match="does not hold the rows of its data"):
        list(read_partition(folder, tasks[0].name, manifest, dataset, ["rouge_l"]))


def test_rows_in_another_order_are_refused_also_where_the_digest_fits(worker, tasks, folder):
    (manifest, *_) = scored(worker, tasks)
    first, second, *others = folder.lines("part-000000.jsonl")
    folder.put("part-000000.jsonl", b"".join([second, first, *others]))
    manifest.files["part-000000.jsonl"] = folder.digest("part-000000.jsonl")
    dataset = FragmentDataset(tasks[0].fragment)
    with pytest.raises(errors.StoreError, match="does not hold the rows of its data"):
        list(read_partition(folder, tasks[0].name, manifest, dataset, ["rouge_l"]))


def test_ids_stay_with_the_driver(tasks):
    assert tasks[0].scan.ids
    assert Task.from_json(tasks[0].to_json()).scan.ids == ""


def test_data_that_changed_since_the_survey_ends_the_run(worker, tasks, folder, rows):
    rows.write_bytes(rows.read_bytes().replace(b"answer 1", b"changed!", 1))
    error = decode_error(json.loads(worker.score(tasks[0].to_json()))["error"])
    assert isinstance(error, errors.DataError)
    assert "changed while it was read" in str(error)
    assert folder.names() == set()


def test_a_partition_is_done_when_its_manifest_fits(worker, tasks, folder):
    made = scored(worker, tasks)
    pieces = tuple(
        FragmentRecord(task.fragment, part.fragment, part.rows, part.rejected)
        for task, part in zip(tasks, made, strict=True)
    )
    run_manifest = RunManifest({}, "hash", "sgi:1", {}, "rows", ("rouge_l",), pieces)
    assert run_manifest.complete_partitions(folder) == {}  # these are of a run by another name
    for number, part in enumerate(made):
        part.run = run_manifest.identity
        folder.put(f"{partition_name(number)}.json", part.to_json())
    assert run_manifest.complete_partitions(folder) == dict(enumerate(made))
    folder.put("part-000001.json", b"{")
    with pytest.raises(errors.StoreError, match=r"part-000001.json is damaged"):
        run_manifest.complete_partitions(folder)


def test_the_file_of_a_run_is_read_as_it_was_written(tasks, folder):
    pieces = tuple(FragmentRecord(task.fragment, task.scan.digest, task.scan.rows, 0) for task in tasks)
    run_manifest = RunManifest({"inputs": True}, "hash", "sgi:1", {"sgi": "1"}, "rows", ("rouge_l",), pieces)
    assert RunManifest.read(folder) is None
    run_manifest.begin(folder)
    assert RunManifest.read(folder) == run_manifest
    for content in (b"{", b"[]", b'{"sgi_partitions": 1}', b'{"sgi_partitions": 2}'):
        folder.put("run.json", content)
        with pytest.raises(errors.StoreError, match=r"run\.json"):
            RunManifest.read(folder)


def test_a_folder_of_other_files_is_not_written_into(folder):
    folder.put("thesis.tex", b"precious")
    with pytest.raises(errors.UsageError, match="holds other files"):
        RunManifest.read(folder)


def test_a_judge_is_divided_so_that_all_together_keep_its_limits():
    judge = JudgeSpec(model="openai:m", concurrency=7, rpm=60, tpm=900, max_cost=3)
    share = share_judge(judge, 3)
    assert (share.concurrency, share.rpm, share.tpm, share.max_cost) == (2, 20, 300, 1)
    assert share.identity() == judge.identity()
    assert share_judge(JudgeSpec(model="openai:m"), 2).rpm is None
    with pytest.raises(errors.UsageError, match="8 workers cannot share 7 requests"):
        share_judge(judge, 8)


@pytest.mark.parametrize(
    "error",
    [
        errors.DataError("is empty", file="a", line=3, sample_id="x\ud800", field="id", hint="Mend it."),
        errors.UnknownNameError("metric", "sgy", ("sgi",), hint="h"),
        errors.MissingExtraError("A judge", "judge"),
        errors.JudgeUnavailableError("busy", retry_after=2.5, throttled=True),
        errors.BudgetExceededError("spent"),
        errors.NonFiniteVectorError("nan", texts=("a",)),
    ],
)
def test_an_error_crosses_as_it_is(error):
    crossed = decode_error(json.loads(json.dumps(encode_error(error))))
    assert type(crossed) is type(error)
    assert str(crossed) == str(error)
