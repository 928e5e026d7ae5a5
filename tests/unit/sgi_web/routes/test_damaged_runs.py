"""A run whose JSON in the database is damaged is shown as damaged; the other runs work."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from support.command import sgi
from support.kept_runs import rows, store_run
from support.web_server import open_site, web_client

DAMAGE = {
    "summary": [
        "{}",
        "[]",
        "7",
        '"text"',
        "{",
        '{"metrics": [1]}',
        '{"metrics": [{"metric": [], "mean": {}}]}',
    ],
    "spec": ["[]", "null", "7", "{", '{"cluster": []}', '{"a": ' + "[" * 500 + "]" * 500 + "}"],
    "versions": ["[]", '{"sgi": 1}', "{"],
}


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """A folder with the database of two runs."""
    folder = tmp_path_factory.mktemp("two_runs")
    store_run(folder / "sgi.db", folder, rows(), name="healthy")
    store_run(folder / "sgi.db", folder, rows(answer="All {topic}."), name="broken")
    return folder


@pytest.fixture
def database(two_runs, tmp_path):
    for file in two_runs.glob("sgi.db*"):
        shutil.copy(file, tmp_path / file.name)
    return tmp_path / "sgi.db"


@pytest.mark.parametrize(("column", "text"), [(column, text) for column in DAMAGE for text in DAMAGE[column]])
def test_lists_show_the_damage_and_the_other_runs(database, tmp_path, column, text):
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(f"UPDATE runs SET {column} = ? WHERE name = 'broken'", [text])
        connection.commit()
    listed = sgi(tmp_path, "runs", "--json")
    assert listed.code == 0, listed.err
    states = {run["name"]: run["state"] for run in listed.json}
    assert states == {"healthy": "finished", "broken": "damaged"}
    (broken,) = (run for run in listed.json if run["name"] == "broken")
    assert broken["damage"].startswith(f"{column}: ")
    table = sgi(tmp_path, "runs")
    assert (table.code, "damaged: " in table.out) == (0, True)
    assert sgi(tmp_path, "show", "broken").code == 0
    with open_site(tmp_path) as site, web_client(site) as client:
        page = client.get("/")
        assert (page.status_code, "healthy" in page.text, "damaged" in page.text) == (200, True, True)
        assert client.get("/api/v1/runs").status_code == 200
        assert client.get("/runs/broken").status_code == 200
