from __future__ import annotations

import shutil

import pytest

from support.kept_runs import keep_run, rows
from support.web_server import browsing, site_in


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """A folder with a database of two runs of the same rows, called ``before`` and ``after``."""
    folder = tmp_path_factory.mktemp("kept")
    keep_run(folder / "sgi.db", folder, rows(60), name="before")
    better = rows(60, answer="Item {k} has {k} old {topic}.")
    keep_run(folder / "sgi.db", folder, better, name="after")
    return folder


@pytest.fixture
def site(kept, tmp_path):
    """A site over a database of the test's own, with two runs."""
    for file in kept.glob("sgi.db*"):
        shutil.copy(file, tmp_path / file.name)
    with site_in(tmp_path) as made:
        yield made


@pytest.fixture
def client(site):
    with browsing(site) as made:
        yield made


@pytest.fixture
def empty(tmp_path):
    """A browser of a site without runs."""
    with site_in(tmp_path) as made, browsing(made) as client:
        yield client
