"""Runs the command `sgi` in this process, which saves the start of a new process."""

import io
import json
import os
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sgi.cli.main import main

REMOTE_VARIABLES = ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "SGI_DATABASE_URL")
"""Environment variables that would make a command use a service or a database outside the folder."""


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of a command.

    Attributes:
        parts: what it wrote, in this order: the name of the stream, ``out`` or ``err``, and a text.
    """

    code: int
    out: str
    err: str
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def json(self) -> Any:
        """The JSON that it printed."""
        return json.loads(self.out)


def sgi(folder: Path, *words: object, **environment: str) -> Outcome:
    """Run `sgi …` in a folder."""
    parts: list[tuple[str, str]] = []
    out, err = (
        io.TextIOWrapper(_Stream(name, parts), encoding="utf-8", write_through=True)
        for name in ("out", "err")
    )
    with chdir(folder), patch.dict(os.environ, environment), redirect_stdout(out), redirect_stderr(err):
        for name in REMOTE_VARIABLES:
            if name not in environment:
                os.environ.pop(name, None)
        code = exit_code(*words)
    return Outcome(code, _content(out), _content(err), tuple(parts))


def exit_code(*words: object) -> int:
    """Run `sgi …` in the current folder with the current streams; return the exit code."""
    with patch("sys.argv", ["sgi", *map(str, words)]):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


class _Stream(io.BytesIO):
    """Bytes that are also added, as texts, to a list that several streams share."""

    def __init__(self, name: str, parts: list[tuple[str, str]]) -> None:
        super().__init__()
        self._name = name
        self._parts = parts

    def write(self, data: Any, /) -> int:
        self._parts.append((self._name, bytes(data).decode("utf-8", "surrogateescape")))
        return super().write(data)


def _content(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
