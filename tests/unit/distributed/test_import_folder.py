"""Importing a folder of partitions opens nothing but the folder and the data that the user names."""

from __future__ import annotations

import json
import os
import shutil
from threading import Thread

import pytest

from sgi.distributed.driver import ClusterConfig
from sgi.distributed.import_run import import_partitions
from sgi.engine.spec import RunSpec
from sgi.kernel.errors import SgiError, StoreError, UsageError
from sgi.store.database import open_database
from sgi.store.run_queries import find_run, list_runs
from support.loopback import Handler, LoopbackServer
from support.partition_folders import score_partitions, write_data


class _Listener(LoopbackServer):
    """Counts what comes in, whatever it is."""

    def __init__(self):
        super().__init__(_Handler)
        self.came = []


class _Handler(Handler):
    def answer(self) -> None:
        self.server.owner.came.append(self.path)
        self.send(404, b"", {}, drop=False, trickle=0.0)

    do_GET = do_HEAD = do_PUT = do_POST = answer  # noqa: N815 - the names the library calls


@pytest.fixture
def rows(tmp_path):
    return write_data(tmp_path / "rows.jsonl")


@pytest.fixture
def folder(tmp_path, rows):
    """A folder of partitions, as `sgi run --ray` writes it."""
    score_partitions(
        RunSpec.of({"data": rows, "out": tmp_path / "parts", "metrics": ["rouge_l"]}), ClusterConfig(), 300
    )
    return tmp_path / "parts"


@pytest.fixture
def database(tmp_path):
    with open_database(tmp_path / "sgi.db") as opened:
        yield opened


def change(folder, changed, name="run.json"):
    """Change the values of a file of JSON in place."""
    values = json.loads((folder / name).read_text())
    changed(values)
    (folder / name).write_text(json.dumps(values))


def named(place):
    def changed(values):
        for piece in values["pieces"]:
            piece["fragment"]["source"]["place"] = place

    return changed


def test_data_inside_of_the_folder_is_read(folder, rows, database):
    shutil.copy(rows, folder / "rows.jsonl")
    change(folder, named(str(folder / "rows.jsonl")))
    assert import_partitions(database, folder).rows == 9


def test_other_data_must_be_named(folder, rows, database):
    with pytest.raises(UsageError, match="Give the path or address of the rows"):
        import_partitions(database, folder)
    assert list_runs(database) == []
    assert import_partitions(database, folder, data=rows).rows == 9


def test_data_that_was_moved_can_be_named(folder, rows, database):
    moved = rows.rename(rows.with_name("moved.jsonl"))
    assert import_partitions(database, folder, data=moved).rows == 9


@pytest.mark.parametrize(
    "place",
    [
        "{rows}",
        "/etc/passwd",
        "file://{rows}",
        "{folder}/../rows.jsonl",
        "rows.jsonl",
        "{folder}/link.jsonl",
        "{folder}/pipe.jsonl",
        "~/rows.jsonl",
    ],
)
def test_no_file_outside_of_the_folder_is_opened(folder, rows, database, place):
    (folder / "link.jsonl").symlink_to(rows)
    os.mkfifo(folder / "pipe.jsonl")
    change(folder, named(place.format(rows=rows, folder=folder)))
    with pytest.raises(UsageError, match="outside of the folder"):
        import_partitions(database, folder)


@pytest.mark.parametrize(
    "address",
    [
        "s3://anonymous:@bucket/rows.jsonl?endpoint_override=127.0.0.1:{port}&scheme=http",
        "s3://bucket/rows.jsonl?endpoint_override=127.0.0.1:{port}&scheme=http&allow_bucket_creation=true",
        "gs://bucket/rows.jsonl?endpoint_override=127.0.0.1:{port}&scheme=http",
        "http://127.0.0.1:{port}/latest/meta-data",
    ],
)
def test_no_address_is_contacted(folder, database, monkeypatch, address):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    with _Listener() as server:
        port = server.url.rpartition(":")[2].partition("/")[0]
        change(folder, named(address.format(port=port)))
        with pytest.raises(SgiError):
            import_partitions(database, folder)
        assert server.came == []


@pytest.mark.parametrize("name", ["run.json", "part-000000.json", "part-000000.jsonl"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_the_folder_s_own_files_are_files_of_it(folder, rows, database, tmp_path, name, kind):
    (folder / name).rename(tmp_path / "moved")
    if kind == "link":
        (folder / name).symlink_to(tmp_path / "moved")
    elif kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).mkdir()
    with pytest.raises(StoreError, match=f"{name} is not a file of the folder"):
        import_partitions(database, folder, data=rows)


def test_settings_name_no_file_to_be_read(folder, rows, database, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    opened = Thread(target=lambda: (tmp_path / "pipe").open("w").close(), daemon=True)
    opened.start()
    change(folder, lambda values: values["spec"].update(calibration=str(tmp_path / "pipe")))
    with pytest.raises(StoreError, match="calibration is not an object"):
        import_partitions(database, folder, data=rows)
    assert opened.is_alive()  # nobody opened the pipe
    os.close(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK))


def test_the_summary_is_computed_from_the_rows(folder, rows, database):
    before = json.loads((folder / "run.json").read_text())["summary"]

    def boast(values):
        values["summary"]["metrics"][0].update(mean=1.0, interval={"low": 1.0, "high": 1.0})
        values["summary"]["rows"] = 10**6

    change(folder, boast)
    run = import_partitions(database, folder, data=rows).run
    assert json.loads(json.dumps(find_run(database, run).summary)) == before
