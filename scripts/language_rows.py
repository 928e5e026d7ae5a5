"""Rows with right and wrong answers in each language, from tests/data/languages/*.jsonl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[1] / "tests" / "data" / "languages"
_COPIED = (1, 3)  # sentences that are answers as they are


class LanguageRow(NamedTuple):
    """A row with its label: 1 for a right answer, 0 for one with a planted error.

    Attributes:
        kind: "copied", "compressed" or "reworded" for right answers; the kind of the error for wrong ones.
        error: start and end of the planted error in the response; empty for a right answer.
    """

    language: str
    label: int
    kind: str
    error: tuple[int, int]
    row: dict[str, Any]


def language_rows(part: str) -> Iterator[LanguageRow]:
    """Yield the rows of the part "development" or "test"; the contexts are the passage and the next one."""
    with (DATA / f"{part}.jsonl").open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    languages = dict.fromkeys(record["language"] for record in records)
    for language in languages:
        own = [record for record in records if record["language"] == language]
        passages = [" ".join(record["sentences"]) for record in own]
        for number, record in enumerate(own):
            contexts = [passages[number], passages[(number + 1) % len(own)]]
            for label, kind, error, answer in _answers(record):
                row = {
                    "question": record["question"],
                    "contexts": contexts,
                    "response": answer,
                    "label": label,
                }
                yield LanguageRow(language, label, kind, error, row)


def _answers(record: dict[str, Any]) -> Iterator[tuple[int, str, tuple[int, int], str]]:
    for number in _COPIED:
        yield 1, "copied", (0, 0), record["sentences"][number]
    for kind in ("compressed", "reworded"):
        yield 1, kind, (0, 0), record[kind]
    for error in record["errors"]:
        base = error["base"]
        text = record["sentences"][base] if isinstance(base, int) else record[base]
        start = text.index(error["old"])
        wrong = text[:start] + error["new"] + text[start + len(error["old"]) :]
        yield 0, error["kind"], (start, start + len(error["new"])), wrong
