from __future__ import annotations

import pytest

from sgi.store.database import open_database
from support.command import REMOTE_VARIABLES, Outcome, exit_code


@pytest.fixture
def database(sqlite_url):
    """An empty SQLite database that is open."""
    with open_database(sqlite_url) as opened:
        yield opened


@pytest.fixture
def sgi(monkeypatch, capsys, tmp_path):
    """Run `sgi …` in this process, in an empty folder, with its own exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in REMOTE_VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def run(*words: str) -> Outcome:
        code = exit_code(*words)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
