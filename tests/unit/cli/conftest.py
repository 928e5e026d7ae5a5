from __future__ import annotations

import sys

import pytest

from sgi.cli.main import main
from support.command import ELSEWHERE, Outcome


@pytest.fixture
def sgi(monkeypatch, capsys, tmp_path):
    """Run `sgi …` in this process, in an empty folder, with its own exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)

    def run(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["sgi", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
