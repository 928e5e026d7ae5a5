"""HaluEval: a right and a hallucinated answer to each question, dialogue and document."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.io.files import file_rows
from sgi_lab.benchmarks.base import BenchmarkRows, is_own, own_rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class _Form(NamedTuple):
    title: str
    given: tuple[str, ...]
    answer: str


_QA = _Form("HaluEval QA", ("knowledge", "question"), "answer")
_DIALOGUE = _Form("HaluEval dialogue", ("knowledge", "dialogue_history"), "response")
_SUMMARIZATION = _Form("HaluEval summarization", ("document",), "summary")


def halueval_qa(path: Path) -> BenchmarkRows:
    """Read HaluEval QA: ``knowledge``, ``question``, ``right_answer``, ``hallucinated_answer``.

    Each row gives two samples, ``halueval_qa-17-right`` and ``halueval_qa-17-hallucinated``, counted from 1;
    the right answer is the reference of both, and both have ``item`` in their metadata. The form with one
    answer per row (``answer``, ``hallucination``: yes or no) is read too. The length of an answer alone
    separates the two kinds.

    References: Li et al. (2023), HaluEval, arXiv:2305.11747.
    """
    return _reading(path, _QA)


def halueval_dialogue(path: Path) -> BenchmarkRows:
    """Read HaluEval dialogue; its question is ``dialogue_history``, other columns are as in `halueval_qa`."""
    return _reading(path, _DIALOGUE)


def halueval_summarization(path: Path) -> BenchmarkRows:
    """Read HaluEval summarization.

    The ``document`` is the context, and there is no question. Other columns are as in `halueval_qa`.
    """
    return _reading(path, _SUMMARIZATION)


def _reading(path: Path, form: _Form) -> BenchmarkRows:
    return BenchmarkRows(path, file_rows(path), partial(_row, form))


def _row(form: _Form, values: Mapping[str, Any], _: int) -> list[Mapping[str, Any]]:
    right, wrong = f"right_{form.answer}", f"hallucinated_{form.answer}"
    is_single = {*form.given, form.answer, "hallucination"} <= values.keys()
    if is_single and not is_own(values):
        return [{"response" if key == form.answer else key: value for key, value in values.items()}]
    if {*form.given, right, wrong} <= values.keys():
        return [values]
    return own_rows(values, form.title, f"{', '.join((*form.given, right))} and {wrong}")
