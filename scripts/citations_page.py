"""Compute the numbers of docs/results/citations.md from planted citations.

The threshold of the grounding detector is chosen on one half of the questions; all other numbers are of the
other half. Equal files give equal pages.

    python scripts/citations_page.py DATA_FOLDER
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from page_parts import replace_parts
from planted_citations import PLANS, SETS, plant

import sgi
from sgi.metrics.citations.oracle import GROUNDING_THRESHOLD
from sgi.reporting.table import Table
from sgi.stats.ranking import auroc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planted_citations import PlantedRow

PAGE = Path(__file__).parents[1] / "docs" / "results" / "citations.md"
METRICS = ["citation_recall", "citation_precision", "citation_validity", "uncited_share"]
GRID = tuple(step / 20 for step in range(1, 19))
VERDICTS = ("right", "needless", "wrong", "invalid")


@dataclass(frozen=True)
class Pair:
    """A planted citation of a statement, with the verdict and score that the metrics give it."""

    half: int
    plan: str
    expected: str
    verdict: str
    score: float | None


@dataclass(frozen=True)
class ScoredSet:
    """Planted rows with their scores, and the pairs of statements and citations that were checked."""

    rows: Sequence[PlantedRow]
    result: Any
    pairs: Sequence[Pair]


def score_set(rows: Sequence[PlantedRow]) -> ScoredSet:
    """Score planted rows, and match the citations with their planted verdicts."""
    result = sgi.evaluate([row.sample for row in rows], METRICS, cache=False)
    pairs = [
        pair
        for row, details in zip(rows, result["citation_recall"].details, strict=True)
        for pair in _pairs(row, details)
    ]
    return ScoredSet(rows, result, pairs)


def _pairs(row: PlantedRow, details: Mapping[str, Any]) -> Iterable[Pair]:
    passages: dict[int, list[Any]] = {}
    for citation in details.get("citations", ()):
        for number in citation["statements"]:
            passages.setdefault(number, []).extend(citation["passages"])
    for number, (statement, planted) in enumerate(
        zip(details.get("statements", ()), row.statements, strict=bool(details))
    ):
        if statement["claims"]:
            for expected, passage in zip(planted.verdicts, passages.get(number, ()), strict=True):
                yield Pair(row.half, planted.plan, expected, passage["verdict"], passage["score"])


def choose_threshold(sets: Iterable[ScoredSet]) -> float:
    """Return the threshold of `GRID` with the highest mean balanced accuracy over the sets, on half 0."""
    scored = [_scores(one, half=0) for one in sets]
    means = [np.mean([balanced_accuracy(*pairs, threshold) for pairs in scored]) for threshold in GRID]
    return GRID[int(np.argmax(means))]


def _scores(one: ScoredSet, half: int) -> tuple[Any, Any]:
    pairs = [pair for pair in one.pairs if pair.half == half and pair.score is not None]
    scores = np.array([pair.score for pair in pairs], dtype=np.float64)
    return np.array([pair.expected == "right" for pair in pairs]), scores


def balanced_accuracy(supported: Any, scores: Any, threshold: float) -> float:
    """Return the mean of the shares of supported and unsupported pairs that are decided correctly."""
    decided = scores >= threshold
    return float((decided[supported].mean() + (~decided[~supported]).mean()) / 2)


def oracle_table(sets: Mapping[str, ScoredSet]) -> str:
    """Return how well the detector decides whether one passage supports a statement, on half 1."""
    rows = []
    for name, one in sets.items():
        supported, scores = _scores(one, half=1)
        area = auroc(scores, supported)
        found = scores >= GROUNDING_THRESHOLD
        rows.append(
            (
                name,
                f"{len(scores):,}",
                f"{area:.3f}",
                f"{found[supported].mean():.2f}",
                f"{(~found[~supported]).mean():.2f}",
                f"{balanced_accuracy(supported, scores, GROUNDING_THRESHOLD):.2f}",
            )
        )
    head = ("set", "pairs", "AUROC", "supported found", "unsupported found", "balanced accuracy")
    return Table(head, rows, title="Oracle", left=("set",)).markdown()


def confusion_table(sets: Mapping[str, ScoredSet]) -> str:
    """Return the verdicts by planted verdict, on half 1."""
    rows = []
    for name, one in sets.items():
        for expected in VERDICTS:
            counts = Counter(pair.verdict for pair in one.pairs if pair.half and pair.expected == expected)
            total = counts.total()
            if total:
                right = f"{counts[expected] / total:.2f}"
                rows.append((name, expected, *(f"{counts[each]:,}" for each in VERDICTS), right))
    head = ("set", "planted", *VERDICTS, "found")
    return Table(head, rows, title="Verdicts", left=("set", "planted")).markdown()


def metric_table(sets: Mapping[str, ScoredSet]) -> str:
    """Return the mean of each metric with its true value, and the correlation over rows, on half 1."""
    rows = []
    for name, one in sets.items():
        truth = np.array([_truth(row) for row in one.rows])
        half = np.array([row.half == 1 for row in one.rows])
        for column, metric in enumerate(METRICS):
            scores = one.result[metric]
            use = half & scores.ok & np.isfinite(truth[:, column])
            true, value = truth[use, column], scores.values[use]
            rows.append(
                (
                    name,
                    metric,
                    f"{use.sum():,}",
                    f"{true.mean():.3f}",
                    f"{value.mean():.3f}",
                    f"{np.abs(true - value).mean():.3f}",
                )
            )
    head = ("set", "metric", "rows", "planted mean", "mean", "mean absolute error")
    return Table(head, rows, title="Metrics", left=("set", "metric")).markdown()


def _truth(row: PlantedRow) -> tuple[float, float, float, float]:
    statements = row.statements
    verdicts = [verdict for statement in statements for verdict in statement.verdicts]
    n, cited = len(statements), len(verdicts)
    return (
        sum(statement.recalled for statement in statements) / n if n else np.nan,
        verdicts.count("right") / cited if cited else np.nan,
        1 - verdicts.count("invalid") / cited if cited else np.nan,
        sum(statement.plan == PLANS[2] for statement in statements) / n if n else np.nan,
    )


def main(arguments: Sequence[str]) -> None:
    """Compute all parts and write the page.

    Raises:
        SystemExit: the argument is not one folder, or the constant is not the chosen threshold.
    """
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.exit("Give the folder with the sets: python scripts/citations_page.py DATA_FOLDER")
    sets = {name: score_set(plant(name, Path(arguments[0]))) for name in SETS}
    threshold = choose_threshold(sets.values())
    if threshold != GROUNDING_THRESHOLD:
        sys.exit(f"The threshold on half 0 is {threshold}; set GROUNDING_THRESHOLD and run again.")
    page = PAGE.read_text(encoding="utf-8")
    parts = {"oracle": oracle_table(sets), "verdicts": confusion_table(sets), "metrics": metric_table(sets)}
    PAGE.write_text(replace_parts(page, parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
