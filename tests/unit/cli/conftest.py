from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import pytest

from sgi.cli.main import main


@dataclass
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def sgi(monkeypatch, capsys, tmp_path):
    """Run `sgi …` in this process, in an empty folder, with its own exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "SGI_DATABASE_URL"):
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
