"""Measure how often the flags of the grounding detector are right on real answers with human labels.

The script scores the labelled sets in a folder, and counts the answers with each kind of flag (kind of fact
and verdict) and how many of them are labelled unsupported. An answer counts once per kind of flag. Answers
without a flag and with a low score are one more kind. Of the summaries and records of RAGTruth, only half A
is read: the rows whose passages have an even SHA-256.

    python scripts/measure_flags.py DATA_FOLDER
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import sgi
from sgi.analysis.flag_precision import FILE, FlagPrecision, FlagTable
from sgi.engine.review import LOW_SCORE, flag_kinds, low_limit
from sgi.metrics.grounding.detector import Grounding
from sgi.stats.intervals import Interval
from sgi.stats.means import mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sgi.kernel.sample import Sample

_ATTRIBUTION = "answers/attributionbench_stanford_expertqa.jsonl.gz"


def _every(_: Sample) -> bool:
    return True


def _half(sample: Sample) -> bool:
    """Return whether a row is in half A, by its passages; decision 0068 has the two lists of sets."""
    return int(sha256("|".join(sample.contexts).encode()).hexdigest(), 16) % 2 == 0


SETS: dict[str, tuple[str, Callable[[Sample], bool]]] = {
    "mtRAG": ("mtrag_human.jsonl", _every),
    "RAGTruth QA": ("ragtruth_qa_test.jsonl", _every),
    "RAGTruth QA, extra": ("answers/ragtruth_qa_extra.jsonl.gz", _every),
    "RAGTruth, summaries, half A": ("answers/ragtruth_summary.jsonl.gz", _half),
    "RAGTruth, records in prose, half A": ("answers/ragtruth_data2txt.jsonl.gz", _half),
    "AttributionBench, Stanford": (
        _ATTRIBUTION,
        lambda sample: sample.metadata["source"] == "Stanford-GenSearch",
    ),
    "BEGIN": ("begin.jsonl", _every),
}


class Answer(NamedTuple):
    """A labelled answer; ``question`` is the number of its cluster within the set."""

    dataset: str
    question: int
    unsupported: bool
    flags: frozenset[str]


def read(name: str, folder: Path) -> list[Answer]:
    """Score a set, and read the flags of its labelled answers with a score."""
    file, is_chosen = SETS[name]
    result = sgi.evaluate(folder / file, "grounding")
    scores = result["grounding"]
    return [
        Answer(name, sample.cluster(row), not sample.label, _flags(scores.values[row], scores.details[row]))
        for row, sample in enumerate(result.samples)
        if sample.label is not None and scores.ok[row] and is_chosen(sample)
    ]


def _flags(value: float, details: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(flag_kinds(details) or ({LOW_SCORE} if value < low_limit() else ()))


def measure(answers: Sequence[Answer]) -> FlagTable:
    """Count the answers with each kind of flag, the most frequent first."""
    sets = {name: [answer for answer in answers if answer.dataset == name] for name in SETS}
    base_rates = {name: _share(some) for name, some in sets.items() if some}
    kinds = {kind for answer in answers for kind in answer.flags}
    flagged = {kind: [answer for answer in answers if kind in answer.flags] for kind in kinds}
    return FlagTable(
        version=Grounding.spec.version,
        sets={name: len(some) for name, some in sets.items()},
        base_rate=round(_share(answers), 4),
        flags=tuple(
            sorted((_precision(kind, some, base_rates) for kind, some in flagged.items()), key=_order)
        ),
    )


def _order(flag: FlagPrecision) -> tuple[int, str]:
    return -flag.answers, flag.kind


def _share(answers: Sequence[Answer]) -> float:
    return sum(answer.unsupported for answer in answers) / len(answers)


def _precision(kind: str, answers: Sequence[Answer], base_rates: Mapping[str, float]) -> FlagPrecision:
    codes: dict[tuple[str, int], int] = {}
    clusters = np.array([codes.setdefault(answer[:2], len(codes)) for answer in answers])
    unsupported = np.array([answer.unsupported for answer in answers], dtype=np.float64)
    interval = mean_interval(unsupported, clusters, low=0.0, high=1.0)
    low, high = (interval.low, interval.high) if isinstance(interval, Interval) else (0.0, 1.0)
    base_rate = sum(base_rates[answer.dataset] for answer in answers) / len(answers)
    return FlagPrecision(
        kind=kind,
        answers=len(answers),
        unsupported=int(unsupported.sum()),
        low=round(low, 4),
        high=round(high, 4),
        base_rate=round(base_rate, 4),
    )


def main(arguments: Sequence[str]) -> None:
    """Print the table, and write it as data of the package."""
    folder = Path(arguments[0])
    table = measure([answer for name in SETS for answer in read(name, folder)])
    text = table.model_dump_json(indent=2) + "\n"
    print(text)
    (Path(__file__).parents[1] / "src" / "sgi" / "data" / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
