from __future__ import annotations

import gzip
import io
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import StoreError, UsageError
from sgi.store.manage_runs import data_files
from sgi_web.uploads import file_name, remove_leftovers, save_upload
from support.bombs import MEGABYTE, gzip_members
from support.kept_runs import rows, store_run
from support.web_server import web_client


@given(st.text(max_size=200))
def test_a_name_has_no_folder_and_an_end(given_name):
    text = file_name(given_name)
    assert 0 < len(text) <= 80
    assert not set(text) & set("/\\")


def test_what_is_kept_has_a_name_of_ours(site):
    path = save_upload(site, io.BytesIO(b"id,response\n"), "../../evil name.CSV")
    assert path.parent == site.folder.resolve()
    assert path.name.startswith("preview-")
    assert "evil" not in path.name
    assert path.suffix == ".csv"
    assert path.read_bytes() == b"id,response\n"
    assert site.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["rows.exe", "rows", "rows.csv.zip", ".csv", "rows.html", "rows.xlsx"])
def test_other_kinds_are_refused(site, name):
    with pytest.raises(UsageError, match="parquet"):
        save_upload(site, io.BytesIO(b"x"), name)
    assert not site.folder.exists()


def test_an_empty_file_is_refused_and_removed(site):
    with pytest.raises(UsageError, match="is empty"):
        save_upload(site, io.BytesIO(), "rows.csv")
    assert list(site.folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(site, tmp_path):
    (tmp_path / "file").write_text("x")
    site.folder = tmp_path / "file" / "below"
    with pytest.raises(StoreError, match="cannot be saved"):
        save_upload(site, io.BytesIO(b"x"), "rows.csv")


def test_a_compressed_file_is_stored_without_its_compression(site):
    path = save_upload(site, io.BytesIO(gzip.compress(b"id,response\n")), "rows.CSV.gz")
    assert (path.suffix, path.read_bytes()) == (".csv", b"id,response\n")
    with pytest.raises(UsageError, match="not a valid gzip file"):
        save_upload(site, io.BytesIO(b"id,response\n"), "rows.csv.gz")
    assert list(site.folder.iterdir()) == [path]


def test_a_gzip_bomb_is_refused_without_filling_the_disk(site):
    bomb = b"".join(gzip_members(b" " * MEGABYTE, 200))
    with pytest.raises(UsageError, match=r"holds more than 100\.0 MB"):
        save_upload(site, io.BytesIO(bomb), "rows.jsonl.gz")
    assert list(site.folder.iterdir()) == []


def _left(site, name, hours):
    site.folder.mkdir(exist_ok=True)
    path = site.folder / name
    if not path.exists():
        path.write_bytes(b"left")
    then = time.time() - hours * 3600
    os.utime(path, (then, then))
    return path


def test_what_a_killed_server_left_goes_when_the_next_begins(site):
    gone = [
        _left(site, "upload-0.csv", 25),
        _left(site, "rows-0.csv", 2),
        _left(site, "preview-0.csv", 2),
        _left(site, ".sgi-0.part", 2),
    ]
    stay = [
        _left(site, "upload-1.csv", 23),
        _left(site, "rows-1.csv", 0.5),
        _left(site, "preview-1.csv", 0.5),
        _left(site, "mine.csv", 999),
    ]
    (site.folder / "upload-folder").mkdir()
    with web_client(site):
        assert not any(path.exists() for path in gone)
        assert all(path.exists() for path in stay)
    assert (site.folder / "upload-folder").is_dir()


def test_an_upload_that_a_run_goes_on_with_stays(site):
    site.folder.mkdir()
    store_run(site.place, site.folder, rows(4), name="upload-2")
    path = _left(site, "upload-2.jsonl", 999)
    assert str(path) in data_files(site.database)
    remove_leftovers(site)
    assert path.exists()


def test_without_the_database_nothing_is_removed(site, monkeypatch, caplog):
    def away(*_):
        raise StoreError("The database is away.")

    path = _left(site, "upload-3.csv", 999)
    monkeypatch.setattr("sgi_web.uploads.data_files", away)
    remove_leftovers(site)
    assert path.exists()
    assert "The database is away." in caplog.text


def test_where_nothing_was_left_nothing_is_made(site):
    remove_leftovers(site)
    assert not site.folder.exists()
