import json
import os
import pickle
import signal
import socket
import subprocess
import sys
from dataclasses import replace

import anyio
import pyarrow as pa
import pytest
from pyarrow import parquet

from sgi.engine.run_options import RunOptions
from sgi.kernel.errors import DataError, MissingExtraError, StoreError, UsageError
from sgi.llm.judge_spec import JudgeSpec
from sgi.store.database import open_database
from sgi.store.run_queries import list_runs
from sgi_cluster import import_folder, run
from sgi_cluster.cluster import check_address
from sgi_cluster.driver import plan_cluster_run, read_items, write_scores
from sgi_cluster.worker import share_judge, unpickle
from support.cluster_runs import score_here
from support.kept_runs import rows, write_rows
from support.runs import contents


@pytest.fixture
def spec(tmp_path):
    data = write_rows(tmp_path / "rows.jsonl", rows(9))
    return RunOptions.of(
        {"data": data, "out": tmp_path / "scores", "metrics": ["rouge_l"], "name": "nightly"}
    )


@pytest.fixture
def folder(spec):
    score_here(spec)
    return spec.out


def test_a_folder_is_imported_once(folder, database):
    assert import_folder(database, folder).rows == 9
    with pytest.raises(UsageError, match=str(folder)):
        import_folder(database, folder)
    assert len(contents(database)["runs"]) == 1


KILLED = """
import os, signal, sys
from sgi_cluster import result_folder
from sgi.store.database import open_database
result_folder.summarise = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
with open_database("killed.db") as database:
    result_folder.import_folder(database, sys.argv[1])
"""


def test_a_killed_import_leaves_no_part_of_the_run(folder, tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    with open_database(tmp_path / "killed.db") as database:
        assert list_runs(database) == []
        assert import_folder(database, folder).rows == 9


@pytest.mark.parametrize("name", ["run.json", "scores.parquet"])
@pytest.mark.parametrize("kind", ["missing", "link", "pipe", "folder"])
def test_only_regular_files_of_the_folder_are_opened(folder, database, tmp_path, name, kind):
    (folder / name).rename(tmp_path / "moved")
    if kind == "link":
        (folder / name).symlink_to(tmp_path / "moved")
    elif kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "folder":
        (folder / name).mkdir()
    with pytest.raises(StoreError, match=str(folder)):
        import_folder(database, folder)


def _change_record(folder, change):
    table = parquet.read_table(folder / "scores.parquet")
    records = [json.loads(text) for text in table["record"].to_pylist()]
    change(records)
    parquet.write_table(pa.table({"record": list(map(json.dumps, records))}), folder / "scores.parquet")


@pytest.mark.parametrize(
    "change",
    [
        lambda records: records[3]["sample"].update(response="Another."),
        lambda records: records[3]["scores"]["rouge_l"].update(value=None),
        lambda records: records[3]["scores"]["rouge_l"].update(status="good"),
        lambda records: records[3]["scores"].clear(),
        lambda records: records[0].update(batch=None),
        lambda records: records[0]["batch"].update(rows=8),
        lambda records: records.pop(),
        lambda records: records.clear(),
    ],
)
def test_nothing_of_a_damaged_folder_is_imported(folder, database, change):
    _change_record(folder, change)
    with pytest.raises(StoreError, match=str(folder)):
        import_folder(database, folder)
    assert contents(database)["runs"] == []


@pytest.mark.parametrize("content", ["{", "[]", '{"sgi_cluster_run": 3}', '{"sgi_cluster_run": 4}'])
def test_a_damaged_manifest_is_refused(folder, database, content):
    (folder / "run.json").write_text(content)
    with pytest.raises(StoreError, match=r"run\.json"):
        import_folder(database, folder)


def test_data_that_changes_while_it_is_scored_ends_the_run(spec):
    run = anyio.run(plan_cluster_run, spec.model_copy(update={"cache": False}))
    scored = [unpickle(run.worker.score(item)) for item in read_items(spec)]
    run.worker.close()
    with pytest.raises(DataError, match="changed"):
        write_scores(run, [pickle.dumps(replace(batch, digest=b"other")) for batch in scored])
    assert list(spec.out.iterdir()) == []


def test_an_unexpected_exception_of_a_worker_names_the_metric_and_its_rows(spec, monkeypatch):
    monkeypatch.setattr("sgi.metrics.lexical.RougeL.score", lambda *_: 1 / 0)
    with pytest.raises(RuntimeError, match=r"ZeroDivisionError(.|\n)*in metric rouge_l"):
        score_here(spec)


@pytest.mark.parametrize("address", ["nowhere", "host:", ":6379", "host:port", ""])
def test_an_address_without_a_cluster_is_refused(address):
    with pytest.raises(UsageError, match=repr(address)):
        check_address(address)


def test_an_address_where_nothing_listens_is_refused_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(UsageError, match=address):
        check_address(address)


def test_without_ray_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("sgi_cluster.cluster.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as missing:
        run("rows.jsonl", tmp_path)
    assert missing.value.extra == "ray"


@pytest.mark.parametrize(
    "setting", [{"target": "app:answer"}, {"cascade": "alpha=0.1"}, {"no_texts": True}, {"workers": 0}]
)
def test_settings_that_a_cluster_cannot_have_are_named(tmp_path, setting):
    with pytest.raises(UsageError, match=f"`{next(iter(setting))}`"):
        run("rows.jsonl", tmp_path, **setting)


def test_a_folder_with_files_is_not_written(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="empty"):
        run("rows.jsonl", tmp_path)


def test_all_workers_together_keep_the_limits_of_the_judge():
    judge = JudgeSpec(model="openai:m", concurrency=7, rpm=60, tpm=900, max_cost=3)
    share = share_judge(judge, 3)
    assert (share.concurrency, share.rpm, share.tpm, share.max_cost) == (2, 20, 300, 1)
    assert share.identity() == judge.identity()
    with pytest.raises(UsageError, match="8 workers"):
        share_judge(judge, 8)
