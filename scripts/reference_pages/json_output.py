"""The page of column names and of the JSON of commands, which run on small data to get the keys."""

from __future__ import annotations

import json
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

from reference_pages.data import columns_section
from reference_pages.markdown import code, page, sentence, table, text
from typer.testing import CliRunner

from sgi.analysis.compare import Comparison
from sgi.analysis.gate.gate import GateReport
from sgi.cli.main import app
from sgi.engine.summary import Summary
from sgi.kernel.details import describe_keys

_RUN = ("run", "answers.jsonl", "-m", "squad_em", "-q", "--json", "--name")
_FIRST_SCREEN = {
    "headline": "the sentence that begins the first screen",
    "evidence": "what was measured about these flags, as sentences",
    "to_check": "the answers to check, worst first, with the reason of each",
    "audits": "by metric with a judge or an audit, its verdict and the corrected share of good answers",
}
_COMMANDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "sgi run": (
        (*_RUN, "friday"),
        {
            **describe_keys(Summary),
            **_FIRST_SCREEN,
            "rows": "number of scored rows",
            "metrics": "the summary of each metric, in the order of the run",
            "run": "the id of the run; null with `--no-store`",
            "columns": "which columns of the data were used",
            "output": "the file of scores; null without `-o`",
            "rejected": "number of rows that could not be read",
            "rejects": "the file of these rows; null if there is none",
        },
    ),
    "sgi show": (
        ("show", "friday", "--json"),
        {
            "run": "the run: id, name, data, state, times and tags",
            **_FIRST_SCREEN,
            "summary": "the summary, with most of the keys of `sgi run --json`",
            "reasons": "why rows have no value, and how many",
            "usage": "by judge, the number of requests and tokens, and the cost",
            "notes": "limits of the numbers",
        },
    ),
    "sgi gate": (
        ("gate", "friday", "squad_em>=0.9", "--json"),
        {**describe_keys(GateReport), "passed": "whether every rule passed"},
    ),
    "sgi compare": (("compare", "monday", "friday", "--json"), describe_keys(Comparison)),
}
"""By the name of a command: arguments to run it, and what its keys mean."""
PAGE = "formats.md"


def json_link(command: str) -> str:
    """Return a link from the page of a command to its keys; empty if they are not described."""
    return f" [Keys of the JSON]({PAGE}#{command.replace(' ', '-')}---json)." if command in _COMMANDS else ""


def formats_page() -> str:
    """Return the page of the columns of data and of the keys in JSON, in the order of the commands.

    Raises:
        ValueError: a command prints a key without a description.
    """
    runner = CliRunner()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        rows = [
            {"id": f"q{n}", "response": f"answer {n % 9}", "reference": f"answer {n}", "label": n < 9}
            for n in range(12)
        ]
        Path("answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        environment = {"SGI_DATABASE_URL": "sgi.db"}
        runner.invoke(app, [*_RUN, "monday"], env=environment)
        printed = {
            name: json.loads(runner.invoke(app, [*words], env=environment).stdout)
            for name, (words, _) in _COMMANDS.items()
        }
    return page(
        "Column names and JSON outputs",
        "What SGI reads in data, and what commands print with `--json`.",
        columns_section(),
        "## JSON outputs\n\n`--json` prints one object on stdout; messages go to stderr. A judge, a cascade, "
        "a calibration and some options add keys, and new versions can add keys.",
        *(f"### `{name} --json`\n\n{_keys(name, printed[name])}" for name in _COMMANDS),
    )


def _keys(name: str, printed: dict[str, Any]) -> str:
    described = _COMMANDS[name][1]
    if missing := printed.keys() - described.keys():
        raise ValueError(f"the keys {sorted(missing)} of {name} --json have no description")
    rows = [
        (code(key), text(sentence(described[key].replace("None", "null"))), _inside(value))
        for key, value in printed.items()
    ]
    return table(["key", "what it has", "keys inside"], rows)


def _inside(value: Any) -> str:
    """Return the keys of an object, or of the first object of a list."""
    first = value[0] if isinstance(value, list) and value else value
    return ", ".join(map(code, first)) if isinstance(first, dict) else ""
