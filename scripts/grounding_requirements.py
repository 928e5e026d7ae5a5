"""Compute the bench tables of docs/results/grounding.md: requirements, detected errors and stability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import train_grounding as training

import sgi
from sgi.io.dataset import open_dataset
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.reporting.table import Table
from sgi_lab.metric_bench.bench import bench, perturb_rows
from sgi_lab.metric_bench.catalogue import PERTURBATIONS
from sgi_lab.metric_bench.detection import is_paraphrase
from sgi_lab.metric_bench.measures import share_interval
from sgi_lab.metric_bench.page import alarms_of
from sgi_lab.metric_bench.perturbation import Kind, Others

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sgi_lab.metric_bench.matrix import Bench, Cell

BENCH_SETS = ("RAGTruth QA", "BEGIN")
BENCH_ROWS = 100
SWAP = "number_swap"
ADDED = ("irrelevant_behind", "irrelevant_before")
MAX_CHANGE = 0.02
PERCENTILE = 0.98
NONE = "–"


def benches(folder: Path) -> dict[str, Bench]:
    """Run the bench for the detector and two geometric metrics on sets with passages."""
    metrics = ["grounding", "sgi", "theta_rc"]
    return {name: bench(folder / training.SETS[name], metrics, n=BENCH_ROWS) for name in BENCH_SETS}


class Result(NamedTuple):
    """The detector's result for a row.

    Attributes:
        score: NaN without a score.
        unsupported: the facts that no passage supports, None without evidence.
    """

    score: float
    unsupported: frozenset[str] | None


class Pair(NamedTuple):
    """A row before and after a change.

    Attributes:
        before: the result for the original row.
        after: the result for the changed row.
        cluster: number of the question.
    """

    before: Result
    after: Result
    cluster: int


def pairs_by_change(path: Path) -> dict[str, list[Pair]]:
    """Score the supported rows of a set before and after each change.

    The changes are number swaps, paraphrases and added passages.
    """
    samples = [sample for sample in open_dataset(path).samples() if sample.label is not None]
    rows = [sample for sample in samples if sample.label]
    changes = [one for one in PERTURBATIONS.values() if one.name in {SWAP, *ADDED} or is_paraphrase(one)]
    perturbed = perturb_rows(rows, changes, Others(samples), seed=0)
    scores = sgi.evaluate(perturbed.all_rows(), "grounding")["grounding"]
    evaluated = zip(scores.values.tolist(), scores.details, strict=True)
    results = [Result(value, unsupported_facts(details)) for value, details in evaluated]
    pairs, start, clusters = {}, len(rows), perturbed.clusters
    for one in changes:
        positions = perturbed.changed[one.name][0].tolist()
        pairs[one.name] = [
            Pair(results[row], results[start + index], int(clusters[row]))
            for index, row in enumerate(positions)
        ]
        start += len(positions)
    return pairs


def unsupported_facts(details: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the facts of a row that no passage supports; None without evidence."""
    if not details:
        return None
    checks = (
        check for sentence in EvidenceMap.model_validate(dict(details)).sentences for check in sentence.checks
    )
    return frozenset(check.fact for check in checks if check.verdict != "supported")


def newly_marked(pairs: Sequence[Pair], *, lost: bool) -> str:
    """Format the share of rows with a newly marked fact, its interval, and the number of rows.

    Args:
        pairs: the rows.
        lost: whether a row that loses its evidence counts as marked.
    """
    if not pairs:
        return NONE
    marked = [
        lost and before.unsupported is not None
        if after.unsupported is None
        else bool(after.unsupported - (before.unsupported or frozenset()))
        for before, after, _ in pairs
    ]
    return f"{share_of(marked, pairs)} of {len(marked):,}"


def share_of(marked: Sequence[bool] | NDArray[np.bool_], pairs: Sequence[Pair]) -> str:
    """Format a share of pairs with its 95 % interval over questions, if there are enough."""
    values = np.asarray(marked, dtype=np.float64)
    interval = share_interval(values, np.array([pair.cluster for pair in pairs]))
    return f"{values.mean():.3f}" + (
        "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
    )


def small_changes(pairs: Sequence[Pair]) -> str:
    """Format the share of rows whose score changes little, and the sizes of the changes.

    A row that loses its score does not count as a small change.
    """
    known = [pair for pair in pairs if math.isfinite(pair.before.score)]
    changes = np.array([abs(pair.after.score - pair.before.score) for pair in known])
    finite = changes[np.isfinite(changes)]
    if not len(finite):
        return NONE
    high = np.quantile(finite, PERCENTILE, method="higher")
    lost = f", {len(changes) - len(finite):,} lost" if len(changes) > len(finite) else ""
    share = f"{share_of(changes <= MAX_CHANGE, known)} of {len(changes):,}"
    return f"{share}; mean {finite.mean():.3f}, 98th percentile {high:.3f}{lost}"


def requirements_table(results: Mapping[str, Bench], folder: Path) -> str:
    """Return the requirements on the detector with the measured values."""
    rows = [
        (name, *row)
        for name, one in results.items()
        for row in requirements(one, pairs_by_change(folder / training.SETS[name]))
    ]
    return Table(
        ("set", "requirement", "limit", "measured"), rows, left=("requirement", "limit", "measured")
    ).markdown()


def requirements(one: Bench, pairs: Mapping[str, list[Pair]]) -> list[tuple[str, str, str]]:
    """Return requirement, limit and measured value for one set; a missing value is shown as missing."""
    alarm = next((alarm for alarm in one.alarms if alarm.metric == "grounding"), None)
    swaps = detected_share(one.cell("grounding", SWAP))
    alarms = NONE if alarm is None else alarms_of(alarm)
    threshold = "" if alarm is None else f", threshold {alarm.fall:.3f}"
    paraphrases = [pair for name, some in pairs.items() if name not in {SWAP, *ADDED} for pair in some]
    return [
        (
            "number swaps with a newly marked fact",
            "≥ 0.98",
            newly_marked(pairs.get(SWAP, []), lost=False),
        ),
        ("correct paraphrases with a newly marked fact", "≤ 0.02", newly_marked(paraphrases, lost=True)),
        ("number swaps detected by the score", "≥ 0.98", swaps + threshold),
        ("false alarms at this threshold, on other questions", "≤ 0.02", alarms),
        *(
            (
                f"{name} (passages added): share of answers whose score changes by at most {MAX_CHANGE}",
                "all",
                small_changes(pairs.get(name, [])),
            )
            for name in ADDED
        ),
    ]


def errors_table(results: Mapping[str, Bench]) -> str:
    """Return the share of detected errors, at the threshold that 2 % of the paraphrases exceed."""
    rows = [
        (
            f"{name}, {one.name}",
            f"{one.applied:,}",
            *(detected_share(bench.cell(metric, one.name)) for metric in bench.metrics),
        )
        for name, bench in results.items()
        for one in bench.changes
        if one.kind is Kind.ERROR
    ]
    return Table(("errors", "rows", *next(iter(results.values())).metrics), rows).markdown()


def detected_share(cell: Cell | None) -> str:
    """Format the detected share, its interval if there are enough rows, and the lost rows."""
    if cell is None or cell.seen is None:
        return NONE
    lost = f", {cell.lost:,} lost" if cell.lost else ""
    text = f"{cell.seen:.3f}"
    if cell.seen_low is not None:
        text += f" [{cell.seen_low:.2f}, {cell.seen_high:.2f}]"
    return text + lost


def stability_table(results: Mapping[str, Bench]) -> str:
    """Return the changes of the score under harmless changes: mean, 98th percentile and maximum."""
    rows = [
        (f"{name}, {one.name}", f"{one.applied:,}", *change_sizes(bench.cell("grounding", one.name)))
        for name, bench in results.items()
        for one in bench.changes
        if one.kind is Kind.HARMLESS
    ]
    return Table(
        ("harmless changes", "rows", "lost", "mean absolute change", "98th percentile", "maximum"), rows
    ).markdown()


def change_sizes(cell: Cell | None) -> list[str]:
    """Format the number of lost rows of a cell, and its absolute changes."""
    if cell is None:
        return [NONE] * 4
    sizes = (cell.mean_change, cell.most_change, cell.worst_change)
    return [f"{cell.lost:,}", *(NONE if value is None else f"{value:.3f}" for value in sizes)]
