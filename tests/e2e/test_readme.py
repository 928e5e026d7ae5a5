"""Examples, commands, settings files and links of the README and the pages under docs work as shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sgi.cli.main import app
from sgi.engine.spec import RunSpec, read_spec
from support.command import sgi

README = Path(__file__).parents[2] / "README.md"
DOCS = README.parent / "docs"
PAGES = [README, *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("*/*.md"))]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    ("page", "count", "printed"),
    [
        (DOCS / "targets.md", 1, "0.98"),
        (DOCS / "python.md", 7, "No such run:"),
        (DOCS / "traces.md", 2, "[0.83]"),
    ],
    ids=["targets", "python", "traces"],
)
def test_the_python_examples_run(page, count, printed, tmp_path):
    examples = blocks(page, "python")
    assert len(examples) == count
    result = subprocess.run(
        [sys.executable, "-c", "\n".join(examples)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].startswith(printed)


def test_the_output_shown_of_a_scorer_is_what_it_prints(tmp_path):
    (example,), (output,) = blocks(DOCS / "scorer.md", "python"), blocks(DOCS / "scorer.md", "text")
    result = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout == output


def test_the_line_about_traces_is_what_a_run_prints(tmp_path):
    (tmp_path / "make.py").write_text(blocks(DOCS / "traces.md", "python")[0])
    subprocess.run([sys.executable, "make.py"], cwd=tmp_path, check=True)
    command, printed = blocks(DOCS / "traces.md", "console")[0].strip().split("\n")
    assert printed in sgi(tmp_path, *shlex.split(command)[2:]).err


def test_the_files_shown_are_read(tmp_path):
    (spec,) = blocks(DOCS / "targets.md", "toml")
    (tmp_path / "nightly.toml").write_text(spec)
    assert RunSpec.of(read_spec(tmp_path / "nightly.toml")).target.concurrency == 16


@pytest.mark.parametrize("page", [README, DOCS / "command-line.md"], ids=lambda page: page.name)
def test_every_verb_shown_is_there(page):
    shown = set(re.findall(r"\bsgi ([a-z][a-z-]*)[ \n]", page.read_text("utf-8"))) - {"import"}
    known = {
        command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands
    }
    known |= {group.typer_instance.info.name for group in app.registered_groups}
    assert shown <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?:|reference/)([^)#]+)\)", page.read_text("utf-8"))  # reference/ is made
    assert [link for link in links if not (page.parent / link).exists()] == []
