"""Colours and bars: only on a terminal that has them, never with NO_COLOR."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from sgi.reporting.terminal_style import sparkline
from support import command
from support.answers import TERMINAL_ATTACK, rows, write_jsonl

BAR = "━"
_CODES = re.compile("\x1b\\[[0-9;]*m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs of the same data; the name of the data controls a terminal."""
    folder = tmp_path_factory.mktemp("styled")
    name = f"{TERMINAL_ATTACK.replace('/', ' ')}.jsonl"
    for run, spoilt in (("monday", 20), ("friday", 5)):
        write_jsonl(folder / name, rows(spoilt=spoilt))
        assert command.sgi(folder, "run", name, "-m", "squad_em,rouge_l", "--name", run, "-q").code == 0
    return folder


SCRIPT = """
import json, sys
from sgi.cli.main import main

for words in json.loads(sys.argv[1]):
    sys.argv = ["sgi", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code, words
    print(end="\\x1e", flush=True)
"""


def in_terminal(folder, *commands, columns=120, **environment):
    """Run commands in a pseudo terminal; return what each writes, and the same without the colours."""
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    plain = {name: os.environ[name] for name in os.environ.keys() - {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, json.dumps(commands)],
        cwd=folder,
        env=plain | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"} | environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    written = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # how Linux reports that the other end is closed
            break
        written += part
    os.close(master)
    assert process.wait() == 0, written
    texts = written.decode().replace("\r\n", "\n").split("\x1e")[: len(commands)]
    return [(text, _CODES.sub("", text)) for text in texts]


def test_a_terminal_gets_words_colours_bars_headings_verdicts_and_trends(folder):
    shows, compares, lists = in_terminal(
        folder, ["show", "friday"], ["compare", "monday", "friday", "-m", "squad_em"], ["runs"]
    )
    raw, shown = shows
    assert shown.startswith(command.sgi(folder, "show", "friday").out.split("\n\n")[0])
    assert "▲ better" in shown
    assert "\nSummary\n" in shown
    assert re.search(rf"squad_em +87.50 % +{BAR}{{7}}─ ", shown)
    assert "\x1b[32mfinished\x1b[0m" in raw
    assert not set(shown) & set("\x1b\x9b\u202e")

    assert re.search(r"\x1b\[32mbetter", compares[0]), compares[0]
    assert re.search(r"squad_em|rouge_l +2 +▁█ ", lists[1])


def test_no_color_leaves_the_plain_output(folder):
    commands = [["show", "friday"], ["runs"], ["compare", "monday", "friday"]]
    written = in_terminal(folder, *commands, columns=300, NO_COLOR="1")
    for words, (raw, shown) in zip(commands, written, strict=True):
        assert not re.search("\x1b\\[[0-9;]*3[0-9]m", raw)
        piped = command.sgi(folder, *words).out
        assert [line.split() for line in shown.splitlines()] == [line.split() for line in piped.splitlines()]
        assert "\x1b" not in piped
        assert BAR not in shown + piped


def test_bars_are_left_out_of_tables_that_they_would_make_too_wide(folder):
    ((_, shown),) = in_terminal(folder, ["show", "friday"], columns=70)
    means, _, ranking = shown.partition("Ranking of labels")
    assert BAR in means
    assert BAR not in ranking


def test_a_sparkline_spans_its_own_values():
    assert sparkline([0.5, 0.5, 0.9, 0.8]) == "▁▁█▆"
