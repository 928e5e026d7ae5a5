"""The columns of data, the exit codes and the environment variables."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from reference_pages.markdown import code, sentence, table, text

from sgi.cli import main
from sgi.io import column_names
from sgi.kernel.details import describe_keys
from sgi.kernel.sample import Sample

_FIELDS = {
    "question": "the question.",
    "response": "the response.",
    "gold_ids": "the ids of the gold passages, each with the grade 1.",
    "prompt_tokens": "the tokens that language models read for the answer.",
    "completion_tokens": "the tokens that language models wrote for the answer.",
    "cost": "the cost of the answer in US dollars.",
}
"""Descriptions of the fields that `Sample` does not describe alone."""

ENVIRONMENT: dict[str, Any] = tomllib.loads((Path(__file__).parent / "environment.toml").read_text("utf-8"))
"""The environment variables that SGI and its libraries read."""


def columns_section() -> str:
    """Return the section of the columns that the reader recognises."""
    described = _FIELDS | describe_keys(Sample)
    described["latency_ms"] = "the time that the answer took, in milliseconds."
    rows = [
        (code(field), text(sentence(described[field])), ", ".join(map(code, names)))
        for field, names in column_names.NAMES.items()
    ]
    listed = {
        "seconds instead of milliseconds": column_names.IN_SECONDS,
        "the opposite of the label: true is hallucinated": column_names.INVERTED,
        "a time in an unknown unit: not used, and a note says so": column_names.WITHOUT_UNIT,
    }
    head = (
        "For each field of a row, the column names that SGI recognises, in order of preference. Case, spaces "
        "and hyphens do not matter. `--map field=column` names any other column. [Input data](../data.md) "
        "describes the formats."
    )
    special = table(
        ["column names", "meaning"], [(", ".join(map(code, names)), words) for words, names in listed.items()]
    )
    return (
        f"## Columns of data\n\n{head}\n\n{table(['field', 'meaning', 'column names'], rows)}\n\n"
        f"Names with a special meaning:\n\n{special}"
    )


def exit_codes_table() -> str:
    """Return the table of the exit codes."""
    rows = [(str(number), meaning) for number, meaning in sorted(exit_codes().items())]
    return table(["code", "meaning"], rows)


def exit_codes() -> dict[int, str]:
    """Return the meaning of each exit code, from the docstring of the command."""
    words = " ".join((main.__doc__ or "").split()).partition("Exit codes: ")[2].rstrip(".")
    pairs = (part.split(" ", 1) for part in re.split(r", (?=\d)", words))
    return {int(number): f"interrupted {text}" if text.startswith("by") else text for number, text in pairs}
