import json
from dataclasses import replace

import pytest

from sgi.distributed.driver import ClusterConfig, _FailureRate
from sgi.distributed.import_run import import_partitions
from sgi.distributed.manifest import RunManifest
from sgi.distributed.partition import Manifest
from sgi.engine.spec import RunSpec
from sgi.kernel.errors import EmbedderError, JudgeError, RunMismatchError, StoreError, UsageError
from sgi.kernel.registry import metric
from sgi.store.database import open_database
from support.judge_server import JudgeServer, ServerReply
from support.partition_folders import score_partitions, write_data
from support.partitions import comparable_tables, sgi
from support.runs import contents

VERDICTS = [{"index": 1, "reason": "It is said.", "supported": 1, "passage": 1}]


def _reply(asked):
    if "verdicts" in json.dumps(asked.body["response_format"]):
        return ServerReply(json.dumps({"verdicts": VERDICTS}))
    return ServerReply("no JSON" if "!7" in json.dumps(asked.body) else json.dumps({"claims": ["One."]}))


@pytest.fixture
def rows(tmp_path):
    return write_data(tmp_path / "rows.jsonl")


def test_what_a_judge_said_is_kept_as_one_process_keeps_it(rows, tmp_path, no_remote_settings):
    with JudgeServer(replies=_reply) as server:
        judge = f"openai:m@{server.url}"
        options = ["-m", "faithfulness", "--judge", judge, "--max-failures", "50%", "-q"]
        words = ["run", rows, *options, "--db", tmp_path / "one.db", "--cache", tmp_path / "one.cache"]
        sgi(*words, code=3)
        asked = {"data": rows, "out": tmp_path / "parts", "metrics": ["faithfulness"], "judge": judge}
        spec = RunSpec.of(asked | {"max_failures": 0.5})
        folder, report = score_partitions(spec, ClusterConfig(cache=tmp_path / "two.cache"), 300)
    assert len([name for name in folder.names() if name.endswith(".evidence.jsonl")]) > 1
    assert report.failures == pytest.approx(1 / 9)
    assert report.usage.calls > 0
    sgi("db", "import", folder.text, "--data", rows, "--db", tmp_path / "two.db")
    with open_database(tmp_path / "one.db") as one, open_database(tmp_path / "two.db") as two:
        alone, imported = comparable_tables(contents(one)), comparable_tables(contents(two))
    assert imported["evidence"]
    assert imported == alone
    with open_database(tmp_path / "two.db") as two:
        with pytest.raises(UsageError, match="is in the database already"):
            import_partitions(two, folder.text, data=rows)
        assert comparable_tables(contents(two)) == imported


def test_nothing_of_a_folder_whose_data_changed_is_kept(rows, tmp_path):
    spec = RunSpec.of({"data": rows, "out": tmp_path / "parts", "metrics": ["sgi"]})
    with open_database(tmp_path / "sgi.db") as database:
        with pytest.raises(StoreError, match="holds no run"):
            import_partitions(database, tmp_path / "nothing")
        folder, _ = score_partitions(spec, ClusterConfig(), 300)
        rows.write_text(rows.read_text().replace("It is 8.", "It was 8"))
        with pytest.raises(StoreError, match=r"part-\d+.jsonl does not hold the rows"):
            import_partitions(database, folder.text, data=rows)
        assert contents(database)["runs"] == []


def test_failures_are_counted_over_all_partitions():
    judged, embedded = metric("faithfulness"), metric("sgi")
    failure_rate = _FailureRate([judged, embedded], 0.1)
    failure_rate.add([Manifest("r", "f", rows=90, failed={"sgi": 9}, reason="gone")])
    failure_rate.add([Manifest("r", "f", rows=10)])
    assert failure_rate.share == pytest.approx(0.09)
    with pytest.raises(EmbedderError, match=r"12% of 100 rows failed.*The last reason: lost"):
        failure_rate.add([Manifest("r", "f", rows=0, failed={"sgi": 3}, reason="lost")])
    with pytest.raises(JudgeError, match="50%"):
        _FailureRate([judged], 0.1).add([Manifest("r", "f", rows=2, failed={"faithfulness": 1})])


def test_files_that_are_not_those_of_their_manifest_are_told_and_made_again(rows, tmp_path):
    spec = RunSpec.of({"data": rows, "out": tmp_path / "parts", "metrics": ["sgi"]})
    folder, _ = score_partitions(spec, ClusterConfig(), 300)
    run_manifest, part = RunManifest.read(folder), tmp_path / "parts" / "part-000001.jsonl"
    whole, content = run_manifest.complete_partitions(folder), part.read_bytes()
    with open_database(tmp_path / "sgi.db") as database:
        for damage in (lambda: part.write_bytes(content.replace(b"1", b"2", 1)), part.unlink):
            damage()
            assert set(whole) - set(run_manifest.complete_partitions(folder)) == {1}
            with pytest.raises(
                StoreError, match=r"part-000001.jsonl has changed .* Remove .*part-000001.json "
            ):
                import_partitions(database, folder.text, data=rows)
        part.write_bytes(content)
        other = Manifest("another run", whole[1].fragment)
        folder.put("part-000001.json", other.to_json())
        with pytest.raises(StoreError, match=r"part-000001.json is of another run"):
            import_partitions(database, folder.text, data=rows)
        assert contents(database)["runs"] == []
    assert 1 not in run_manifest.complete_partitions(folder)


def test_two_drivers_in_one_folder(rows, tmp_path):
    spec = RunSpec.of({"data": rows, "out": tmp_path / "parts", "metrics": ["sgi"]})
    folder, _ = score_partitions(spec, ClusterConfig(), 300)
    score_partitions(spec, ClusterConfig(), 300)  # the same run goes on
    with pytest.raises(RunMismatchError, match=r"run.json is of another run"):
        score_partitions(
            RunSpec.of({"data": rows, "out": tmp_path / "parts", "metrics": ["sgi"], "inputs": True}),
            ClusterConfig(),
            300,
        )
    with pytest.raises(RunMismatchError, match=r"run.json is of another run"):
        score_partitions(spec, ClusterConfig(), 150)  # its data is cut in another way
    run_manifest = RunManifest.read(folder)
    replace(run_manifest, spec_hash="another").end(
        folder
    )  # as an object store, which cannot refuse it, would
    with pytest.raises(RunMismatchError, match="two runs started"):
        run_manifest.check_still(folder)


def test_a_run_of_other_numbers_does_not_go_on(rows, tmp_path):
    spec = RunSpec.of({"data": rows, "out": tmp_path / "parts", "metrics": ["sgi"]})
    folder, _ = score_partitions(spec, ClusterConfig(), 300)
    run_manifest = RunManifest.read(folder)
    run_manifest.check_same(run_manifest, folder)
    with pytest.raises(RunMismatchError, match=r"the signature \(then sgi.*, now sgi:other\) changed"):
        run_manifest.check_same(replace(run_manifest, signature="sgi:other"), folder)
