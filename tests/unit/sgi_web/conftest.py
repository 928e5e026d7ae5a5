from __future__ import annotations

import shutil

import pytest

from sgi.store.users import add_user
from support.kept_runs import rows, store_run
from support.web_server import open_site, submit_form, web_client


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """A folder with a database of two runs of the same rows, called ``before`` and ``after``."""
    folder = tmp_path_factory.mktemp("kept")
    store_run(folder / "sgi.db", folder, rows(60), name="before")
    better = rows(60, answer="Item {k} has {k} old {topic}.")
    store_run(folder / "sgi.db", folder, better, name="after")
    return folder


@pytest.fixture
def site(kept, tmp_path):
    """A site over a database of the test's own, with two runs."""
    for file in kept.glob("sgi.db*"):
        shutil.copy(file, tmp_path / file.name)
    with open_site(tmp_path) as made:
        yield made


@pytest.fixture
def client(site):
    with web_client(site) as made:
        yield made


@pytest.fixture
def signed_in(site):
    """Returns a browser in which a new user with this role has signed in."""
    clients = []

    def sign_in(role):
        context = web_client(site)
        client = context.__enter__()
        clients.append(context)
        submit_form(client, "/login", token=add_user(site.database, f"{role} user", role))
        return client

    yield sign_in
    for context in clients:
        context.__exit__(None, None, None)


@pytest.fixture
def empty(tmp_path):
    """A browser of a site without runs."""
    with open_site(tmp_path) as made, web_client(made) as client:
        yield client
