import json
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace

import anyio
import pyarrow as pa
import pytest
from pyarrow import parquet

from sgi.engine.run_options import RunOptions
from sgi.kernel.errors import DataError, StoreError, UsageError
from sgi.store.database import open_database
from sgi.store.run_queries import list_runs
from sgi_cluster import import_folder
from sgi_cluster.driver import plan_cluster_run, read_items, write_scores
from sgi_cluster.worker import unpickle
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
