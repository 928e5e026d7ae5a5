"""TruthfulQA: questions that many people answer incorrectly, with true and false answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.io import coercion as cells
from sgi.io.files import file_rows
from sgi.kernel.errors import DataError
from sgi_lab.benchmarks.base import BenchmarkRows, other_columns, own_rows, read_field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_QUESTION, _BEST, _RIGHT, _WRONG = "question", "best_answer", "correct_answers", "incorrect_answers"


def truthfulqa(path: Path) -> BenchmarkRows:
    """Read TruthfulQA: ``Question``, ``Best Answer``, ``Correct Answers``, ``Incorrect Answers``, ….

    Each answer is a sample: correct ones are labelled true, incorrect ones false. The best answer is the
    reference; there is no context. The published CSV separates answers by semicolons. Ids are
    ``truthfulqa-<row>-c<answer>`` and ``…-i<answer>``, counted from 0. Duplicates stay: three questions of
    the CSV list an answer twice, and two list "Unknown" as correct and as incorrect.

    References: Lin, Hilton and Evans (2022), TruthfulQA, arXiv:2109.07958.
    """
    return BenchmarkRows(path, file_rows(path), _row)


def _row(values: Mapping[str, Any], number: int) -> list[Mapping[str, Any]]:
    columns = {str(key).strip().casefold().replace(" ", "_"): value for key, value in values.items()}
    if not {_QUESTION, _BEST, _RIGHT, _WRONG} <= columns.keys():
        return own_rows(values, "TruthfulQA", "Question, Best Answer, Correct Answers and Incorrect Answers")
    shared = {
        "question": read_field(columns, _QUESTION),
        "reference": read_field(columns, _BEST),
        "metadata": {"item": number - 1, **other_columns(columns, _QUESTION, _BEST, _RIGHT, _WRONG)},
    }
    answers: list[Mapping[str, Any]] = [
        {"id": f"truthfulqa-{number - 1}-{letter}{place}", **shared, "response": answer, "label": label}
        for letter, column, label in (("c", _RIGHT, True), ("i", _WRONG, False))
        for place, answer in enumerate(_answers(columns, column))
    ]
    if not answers:
        raise DataError("there is no answer to the question", field=_RIGHT)
    return answers


def _answers(columns: Mapping[str, Any], column: str) -> list[str]:
    texts = read_field(columns, column, cells.as_answers)
    parts = texts[0].split(";") if isinstance(columns[column], str) else texts
    answers = [part.strip() for part in parts]
    return [answer for answer in answers if answer]
