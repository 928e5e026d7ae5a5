"""Pages of the columns of data, the database, errors and exit codes."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
import tomllib
from pathlib import Path
from typing import Any

from reference_pages.markdown import code, page, prose, sentence, table, text

from sgi.cli import main
from sgi.io import column_names
from sgi.kernel import errors
from sgi.kernel.details import describe_keys
from sgi.kernel.errors import SgiError
from sgi.kernel.sample import Sample
from sgi.store import schema

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


def columns_page() -> str:
    """Return the page of the columns that the reader recognises."""
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
    return page(
        "Columns of data",
        "For each field of a row, the column names that SGI recognises, in order of preference. Case, spaces "
        "and hyphens do not matter. `--map field=column` names any other column. [Input data](../data.md) "
        "describes the formats.",
        table(["field", "meaning", "column names"], rows),
        "## Names with a special meaning",
        table(["column names", "meaning"], [(", ".join(map(code, v)), k) for k, v in listed.items()]),
    )


def database_page() -> str:
    """Return the page of the tables, with the comments of the schema."""
    tables, columns = _comments(inspect.getsource(schema))
    parts = []
    for each in schema.metadata.tables.values():
        rows = [
            (
                code(column.name),
                _type(column),
                _facts(column),
                text(sentence(columns.get((each.name, column.name), ""))),
            )
            for column in each.columns
        ]
        words = text(sentence(tables.get(each.name, "")))
        listed = table(["column", "type", "constraints", "meaning"], rows)
        parts.append(f"## {each.name}\n\n{words}\n\n{listed}")
    return page(
        "Database schema",
        text(" ".join((schema.__doc__ or "").split())),
        "[Stored data](../database.md) describes what is stored, and how to manage it. The schema is "
        "internal: use `sgi export` or `sgi.open_run` to read runs.",
        *parts,
    )


def _type(column: Any) -> str:
    return str(column.type.compile()).lower() if column.type._type_affinity.__name__ != "JSON" else "json"


def _facts(column: Any) -> str:
    facts = ["primary key"] * column.primary_key
    facts += [f"→ `{key.target_fullname}`" for key in column.foreign_keys]
    facts += ["unique"] * bool(column.unique) + ["may be NULL"] * bool(column.nullable)
    return ", ".join(facts)


def _comments(source: str) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the comments behind tables and columns, by their names."""
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    tables, columns = {}, {}
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "sa.Table"):
            continue
        name = ast.literal_eval(node.args[0])
        tables[name] = comments.get(node.lineno, "")
        for part in node.args[2:]:
            if isinstance(part, ast.Call) and ast.unparse(part.func) == "sa.Column":
                columns[name, ast.literal_eval(part.args[0])] = comments.get(part.end_lineno or 0, "")
    return tables, columns


def error_classes() -> list[type[Exception]]:
    """Return the public classes of errors and warnings, base classes first."""
    return [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, Exception) and each.__module__ == errors.__name__
    ]


def errors_page() -> str:
    """Return the page of all errors."""
    parts = []
    for each in error_classes():
        base = each.__bases__[0].__name__
        kind = f"A kind of [`{base}`](#{base.lower()}). " if issubclass(each.__bases__[0], SgiError) else ""
        parts.append(f"## {each.__name__}\n\n{kind}{prose(inspect.getdoc(each) or '')}")
    return page(
        "Errors",
        "Each error has a message that says what is wrong, and a hint that says what to do. The command line "
        "prints both on one line and exits with 2. In Python, catch `sgi.errors.SgiError` for all of them.",
        *parts,
    )


def exit_codes_page() -> str:
    """Return the page of the exit codes."""
    rows = [(str(number), meaning) for number, meaning in sorted(exit_codes().items())]
    return page("Exit codes", "Every command uses these.", table(["code", "meaning"], rows))


def exit_codes() -> dict[int, str]:
    """Return the meaning of each exit code, from the docstring of the command."""
    words = " ".join((main.__doc__ or "").split()).partition("Exit codes: ")[2].rstrip(".")
    pairs = (part.split(" ", 1) for part in re.split(r", (?=\d)", words))
    return {int(number): f"interrupted {text}" if text.startswith("by") else text for number, text in pairs}
