from __future__ import annotations

import gzip
import io
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.engine.run_options import RunOptions
from sgi.io.files import PACKED
from sgi.kernel.errors import StoreError, UsageError
from sgi.store.manage_runs import data_files
from sgi.store.run_queries import find_run, list_runs
from sgi_web import uploads as module
from sgi_web.pages import NotFoundError
from sgi_web.uploads import MAX_IDLE, MAX_WAITING, Uploads, file_name, remove_leftovers
from sgi_web.work_limits import ServerBusyError, Throttle
from support.bombs import MEGABYTE, gzip_members
from support.kept_runs import rows, store_run, write_rows
from support.web_server import wait_until, web_client

PATIENCE = 600.0
"""Seconds for a process to start and to score some rows."""


@given(st.text(max_size=200))
def test_a_name_has_no_folder_and_an_end(given_name):
    text = file_name(given_name)
    assert 0 < len(text) <= 80
    assert not set(text) & set("/\\")


@pytest.fixture
def uploads(site):
    made = Uploads(site)
    yield made
    made.close()


def add(uploads, content=b"id,response\n1,x\n", name="rows.csv"):
    return uploads.add(io.BytesIO(content), name)


def start(uploads, tmp_path, *, count=12, tags=(), **settings):
    """Add a file of rows, and start its run."""
    path = write_rows(tmp_path / "rows.jsonl", rows(count))
    upload = add(uploads, path.read_bytes(), "mine.jsonl")
    values = {"data": upload.path, "metrics": ("squad_em",), "max_failures": 1.0} | settings
    uploads.start(upload, RunOptions.of(values, tags=tags))
    return upload


def test_a_stored_file_has_a_generated_name(uploads, site):
    path = add(uploads, name="../../evil name.CSV").path
    assert path.parent == site.folder.resolve()
    assert "evil" not in path.name
    assert path.suffix == ".csv"
    assert path.read_bytes() == b"id,response\n1,x\n"
    assert site.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["rows.exe", "rows", "rows.csv.zip", ".csv", "rows.html", "rows.xls"])
def test_other_kinds_are_refused(uploads, site, name):
    with pytest.raises(UsageError, match="parquet"):
        add(uploads, name=name)
    assert not site.folder.exists()


def test_a_folder_that_cannot_be_made_is_an_error(uploads, site, tmp_path):
    (tmp_path / "file").write_text("x")
    site.folder = tmp_path / "file" / "below"
    with pytest.raises(StoreError):
        add(uploads)


def test_a_compressed_file_is_stored_without_its_compression(uploads, site):
    path = add(uploads, gzip.compress(b"id,response\n"), "rows.CSV.gz").path
    assert (path.suffix, path.read_bytes()) == (".csv", b"id,response\n")
    with pytest.raises(UsageError, match="gzip"):
        add(uploads, name="rows.csv.gz")
    assert list(site.folder.iterdir()) == [path]


def test_a_file_of_many_gzip_members_is_refused(uploads, site):
    with pytest.raises(UsageError, match="more than 10,000 gzip members"):
        add(uploads, gzip.compress(b"") * 10_001, "rows.csv.gz")
    assert not list(site.folder.iterdir())


def test_previews_do_not_wait_for_one_another(uploads, monkeypatch):
    ends = Event()
    monkeypatch.setattr(module, "_SMALL_BYTES", 20)
    monkeypatch.setattr(module, "scan_file", lambda path, *_: path.stat().st_size < 20 or ends.wait(60))
    large = b"id,response\n" + b"1,x\n" * 20
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(add(uploads, content=large).scan, {}) for _ in range(3)]
        try:
            wait_until(lambda: module._large_scans._running._value == 0)
            assert add(uploads).scan({}) is True
            assert not any(one.done() for one in waiting)
        finally:
            ends.set()
        assert [one.result() for one in waiting] == [True] * 3


@pytest.mark.parametrize("suffix", sorted(PACKED))
def test_a_small_file_that_can_hold_much_is_read_like_a_large_one(uploads, monkeypatch, suffix):
    monkeypatch.setattr(module, "_large_scans", Throttle(0, 0.0))
    upload = add(uploads, b"1", f"rows{suffix}")
    with module._large_scans.acquire(), pytest.raises(ServerBusyError):
        upload.scan({})


def test_a_gzip_bomb_is_refused_without_filling_the_disk(uploads, site):
    bomb = b"".join(gzip_members(b" " * MEGABYTE, 200))
    with pytest.raises(UsageError, match="--upload-limit"):
        add(uploads, bomb, "rows.jsonl.gz")
    assert list(site.folder.iterdir()) == []


def test_a_further_file_replaces_the_oldest_and_none_outlives_the_server(site):
    uploads = Uploads(site)
    first, *others = [add(uploads) for _ in range(MAX_IDLE + 1)]
    assert not first.path.exists()
    with pytest.raises(NotFoundError):
        uploads.find(first.id)
    assert all(uploads.find(upload.id).path.exists() for upload in others)
    uploads.close()
    assert list(site.folder.iterdir()) == []


def test_an_upload_becomes_a_run_with_its_tags_and_its_file_goes(uploads, site, tmp_path):
    upload = start(uploads, tmp_path, tags=("b", "a"), name="mine")
    assert uploads.active() == [upload]
    with pytest.raises(UsageError):
        uploads.start(upload, None)
    wait_for_end(upload)
    assert (upload.state, upload.problem) == ("finished", "")
    record = find_run(site.database, "mine")
    assert (record.id, record.tags, record.scored, record.finished) == (upload.run, ("a", "b"), 12, True)
    assert not upload.path.exists()
    assert uploads.active() == []


def test_an_error_names_the_file_as_its_owner_does(uploads, site):
    upload = add(uploads, b'{"id": "1", "response": "x"}\n{"id": "2", "response": 3}\n', "mine.jsonl")
    uploads.start(upload, RunOptions(data=upload.path, metrics=("squad_em",)))
    wait_for_end(upload)
    assert (upload.state, upload.run, upload.path.exists()) == ("failed", None, False)
    assert upload.problem.startswith("mine.jsonl:2: id '2': field 'response'")
    assert str(site.folder.resolve()) not in upload.problem


def wait_for_end(upload):
    wait_until(lambda: not upload.is_active, PATIENCE)


def wait_for_rows(site, upload):
    def has_rows():
        return upload.run is not None and find_run(site.database, upload.run).scored > 0

    wait_until(has_rows, PATIENCE)


def test_cancelled_uploads_keep_their_rows_and_later_ones_are_scored(uploads, site, tmp_path):
    """A running and a waiting upload are cancelled; the third one is scored."""
    first = start(uploads, tmp_path, count=3000, metrics=("sgi",))
    waiting = start(uploads, tmp_path, name="waiting")
    third = start(uploads, tmp_path, name="third")
    wait_for_rows(site, first)
    for upload in (waiting, first, first):
        uploads.cancel(upload)
    wait_for_end(first)
    assert (first.state, waiting.state) == ("cancelled", "cancelled")
    assert (first.path.exists(), waiting.path.exists(), waiting.run) == (True, False, None)
    record = find_run(site.database, first.run)
    assert (record.finished, record.stopped) == (False, "interrupted")
    wait_for_end(third)
    assert third.state == "finished"
    uploads.cancel(third)
    assert third.state == "finished"
    assert "waiting" not in {run.name for run in list_runs(site.database)}


@pytest.mark.slow
def test_a_worker_that_crashes_is_an_error_and_its_run_can_be_resumed(uploads, site, tmp_path):
    upload = start(uploads, tmp_path, count=3000, metrics=("sgi",))
    wait_for_rows(site, upload)
    os.kill(uploads._worker.pid, signal.SIGKILL)
    wait_for_end(upload)
    assert (upload.state, "-9" in upload.problem, upload.path.exists()) == ("failed", True, True)
    assert not find_run(site.database, upload.run).finished
    after = start(uploads, tmp_path)
    wait_for_end(after)
    assert after.state == "finished"


def test_a_worker_that_cannot_start_is_an_error(uploads, tmp_path, monkeypatch):
    def broken(**_):
        raise OSError("no more processes")

    monkeypatch.setattr(module._SPAWN, "Process", broken)
    upload = start(uploads, tmp_path)
    wait_for_end(upload)
    assert (upload.state, upload.path.exists(), upload.problem != "") == ("failed", False, True)


def test_the_end_of_the_server_ends_the_worker_and_the_waiting_uploads(site, tmp_path):
    uploads = Uploads(site)
    first = start(uploads, tmp_path, count=3000, metrics=("sgi",))
    waiting = start(uploads, tmp_path)
    wait_for_rows(site, first)
    worker = uploads._worker
    uploads.close()
    assert not worker.is_alive()
    assert (first.state, first.path.exists(), waiting.path.exists()) == ("cancelled", True, False)
    assert find_run(site.database, first.run).stopped == "interrupted"


def test_the_number_of_waiting_uploads_is_bounded(uploads, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "_score", lambda *_: None)
    for _ in range(MAX_WAITING):
        start(uploads, tmp_path)
    with pytest.raises(ServerBusyError):
        start(uploads, tmp_path)


def left(site, name):
    site.folder.mkdir(exist_ok=True)
    path = site.folder / name
    if not path.exists():
        path.write_bytes(b"left")
    return path


def test_files_of_a_killed_server_go_when_the_next_begins(site, uploads):
    gone = [left(site, name) for name in ("upload-0.csv", "upload-00.pb")]
    (site.folder / "upload-folder").mkdir()
    store_run(site.place, site.folder, rows(4), name="upload-2")
    stay = [add(uploads).path, left(site, "mine.csv"), left(site, "upload-2.jsonl")]
    assert str(stay[-1]) in data_files(site.database)
    with web_client(site):
        assert not any(path.exists() for path in gone)
        assert all(path.exists() for path in stay)


def test_without_the_database_nothing_is_removed(site, monkeypatch):
    def away(*_):
        raise StoreError("The database is away.")

    path = left(site, "upload-3.csv")
    monkeypatch.setattr("sgi_web.uploads.data_files", away)
    remove_leftovers(site)
    assert path.exists()
