from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import StoreError, UsageError
from sgi.web.uploads import file_name, keep, offline_metrics


@given(st.text(max_size=200))
def test_a_name_has_no_folder_and_an_end(given_name):
    made = file_name(given_name)
    assert 0 < len(made) <= 80
    assert not set(made) & set("/\\")


def test_what_is_kept_has_a_name_of_ours(site):
    path = keep(site, io.BytesIO(b"id,response\n"), "../../evil name.CSV")
    assert path.parent == site.folder.resolve()
    assert path.name.startswith("upload-")
    assert "evil" not in path.name
    assert path.suffix == ".csv"
    assert path.read_bytes() == b"id,response\n"
    assert site.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["rows.exe", "rows", "rows.csv.gz", ".csv", "rows.html"])
def test_other_kinds_are_refused(site, name):
    with pytest.raises(UsageError, match="parquet"):
        keep(site, io.BytesIO(b"x"), name)
    assert not site.folder.exists()


def test_an_empty_file_is_refused_and_removed(site):
    with pytest.raises(UsageError, match="is empty"):
        keep(site, io.BytesIO(), "rows.csv")
    assert list(site.folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(site, tmp_path):
    (tmp_path / "file").write_text("x")
    site.folder = tmp_path / "file" / "below"
    with pytest.raises(StoreError, match="cannot be kept"):
        keep(site, io.BytesIO(b"x"), "rows.csv")


def test_metrics_that_ask_nobody():
    known = offline_metrics()
    assert {"sgi", "rouge_l", "squad_em"} <= set(known)
    assert "faithfulness" not in known
    assert known["squad_em"] == "reference, response"
