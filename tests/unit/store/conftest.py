from __future__ import annotations

import pytest

from sgi.store.database import open_database


@pytest.fixture
def database(database_url):
    """An empty database that is open: a test with this fixture runs on SQLite and on PostgreSQL."""
    with open_database(database_url) as opened:
        yield opened
