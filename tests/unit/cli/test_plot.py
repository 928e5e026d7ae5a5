"""`sgi runs plot`: one figure as a file, or why not."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from sgi.cli.plot_command import Kind
from support.kept_runs import rows, store_run

ALWAYS = ("distribution", "groups", "correlation", "roc")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Two runs with labels, angles and groups, and one with next to nothing."""
    folder = tmp_path_factory.mktemp("kept")
    database = str(folder / "sgi.db")
    store_run(database, folder, rows(80), name="monday", metrics=("sgi", "content_f1"))
    store_run(database, folder, rows(80, answer="{topic}"), name="friday", metrics=("sgi", "content_f1"))
    bare = [{"id": str(k), "response": "a", "reference": "a"} for k in range(3)]
    store_run(database, folder, bare, name="bare", metrics=("squad_em",))
    return database


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_is_drawn(sgi, kept, kind, tmp_path):
    options = {Kind.COMPARISON: ["--with", "friday"], Kind.SCATTER: ["-m", "sgi", "--versus", "content_f1"]}
    words = options.get(kind, [])
    result = sgi("runs", "plot", "monday", "--db", kept, "--kind", kind.value, "-o", "a.svg", *words)
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith(f"a.svg shows {kind.value} of monday. ")
    assert result.err.rstrip().endswith(".")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


@pytest.mark.parametrize(("suffix", "begins"), [("png", b"\x89PNG"), ("SVG", b"<svg"), ("pdf", b"%PDF")])
def test_the_suffix_says_what_the_file_is(sgi, kept, suffix, begins, tmp_path):
    words = (
        "runs",
        "plot",
        "monday",
        "--db",
        kept,
        "-k",
        "groups",
        "-m",
        "content_f1",
        "--by",
        "topic",
        "-q",
    )
    result = sgi(*words, "-o", f"a.{suffix}")
    assert (result.code, result.err) == (0, "")
    assert (tmp_path / f"a.{suffix}").read_bytes().startswith(begins)


def test_sizes_are_as_requested(sgi, kept, tmp_path):
    def size(*words):
        assert (
            sgi(
                "runs", "plot", "monday", "--db", kept, "-k", "distribution", "-o", "a.png", "-q", *words
            ).code
            == 0
        )
        header = (tmp_path / "a.png").read_bytes()[16:24]
        return int.from_bytes(header[:4]), int.from_bytes(header[4:])

    small = size("--width", "200", "--height", "100", "--pixels", "1")
    wide = size("--width", "300", "--height", "100", "--pixels", "1")
    assert (wide[0] - small[0], wide[1] - small[1]) == (100, 0)
    double = size("--width", "200", "--height", "100", "--pixels", "2")
    assert double == pytest.approx((2 * small[0], 2 * small[1]), abs=2)


def test_what_can_be_drawn_instead_is_what_is_drawn(sgi, kept):
    result = sgi("runs", "plot", "bare", "--db", kept, "-k", "roc", "-o", "a.png")
    offered = re.search(r"Possible kinds: (.*)\.", result.err)[1].split(", ")
    for kind in offered:
        words = ["--with", "bare"] if kind == "comparison" else []
        assert sgi("runs", "plot", "bare", "--db", kept, "-k", kind, "-o", "a.png", "-q", *words).code == 0


def test_a_run_without_a_value_has_nothing_to_draw(sgi, tmp_path):
    (tmp_path / "hopeless_for_plot.py").write_text("def answer(question):\n    raise RuntimeError('no')\n")
    (tmp_path / "a.jsonl").write_text('{"id": "1", "question": "Who?", "reference": "Me."}\n')
    assert sgi("run", "a.jsonl", "-m", "squad_em", "--target", "hopeless_for_plot:answer", "-q").code == 2
    for kind in ALWAYS:
        result = sgi("runs", "plot", "last", "-k", kind, "-o", "a.png")
        assert (result.code, "No figure is possible yet." in result.err) == (2, True)


def test_the_shell_completes_the_kinds():
    words = {"_SGI_COMPLETE": "complete_bash", "COMP_WORDS": "sgi runs plot --kind r", "COMP_CWORD": "4"}
    command = [sys.executable, "-c", "import sys; sys.argv[0] = 'sgi'; from sgi.cli.main import main; main()"]
    result = subprocess.run(command, env=os.environ | words, capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["roc", "reliability"]
