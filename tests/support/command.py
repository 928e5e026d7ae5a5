"""The command `sgi` in this process: all that it says, without the second a process needs to start."""

from __future__ import annotations

import io
import json
import os
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from sgi.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

REMOTE_VARIABLES = ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "SGI_DATABASE_URL")
"""What a user's environment may hold that would lead a command away from the folder."""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)


def sgi(folder: Path, *words: object, **environment: str) -> Outcome:
    """Run `sgi …` in a folder, with its own exit code, stdout and stderr."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with chdir(folder), patch.dict(os.environ, environment), redirect_stdout(out), redirect_stderr(err):
        for name in REMOTE_VARIABLES:
            if name not in environment:
                os.environ.pop(name, None)
        code = exit_code(*words)
    return Outcome(code, _content(out), _content(err))


def exit_code(*words: object) -> int:
    """Run `sgi …` where we are, with the streams there are, and give its exit code."""
    with patch("sys.argv", ["sgi", *map(str, words)]):
        try:
            main()
        except SystemExit as left:
            return int(left.code or 0)
    return 0


def _content(stream: io.TextIOWrapper) -> str:
    stream.flush()
    made = stream.buffer
    assert isinstance(made, io.BytesIO)
    return made.getvalue().decode()
