from __future__ import annotations

import shutil
from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient

from support.kept_runs import rows, store_run
from support.web_server import ADDRESS, open_site, submit_form, web_client

TOKENS = {"edit": "the token of editors", "view": "the token of readers"}


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
def guarded(site):
    """A site with both tokens."""
    site.token, site.view_token = TOKENS["edit"], TOKENS["view"]
    return site


@pytest.fixture
def signed_in(guarded):
    """Return a function: a browser that has signed in with the token for ``view`` or ``edit``."""
    with ExitStack() as stack:

        def sign_in(right):
            client = stack.enter_context(web_client(guarded))
            assert submit_form(client, "/login", token=TOKENS[right]).status_code == 303
            return client

        yield sign_in


@pytest.fixture
def person(site):
    """Return a function: a browser whose requests come through a proxy that names this person."""
    site.identity_header, site.proxies = "X-Person", frozenset({"192.0.2.1"})
    with ExitStack() as stack, web_client(site) as one:

        def named(name):
            client = TestClient(one.app, base_url=ADDRESS, follow_redirects=False)
            stack.callback(client.close)
            client.app_state.update(one.app_state, peer="192.0.2.1")
            client.headers["X-Person"] = name
            return client

        yield named


@pytest.fixture
def empty(tmp_path):
    """A browser of a site without runs."""
    with open_site(tmp_path) as made, web_client(made) as client:
        yield client
