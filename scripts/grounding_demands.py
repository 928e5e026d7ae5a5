"""The parts of docs/grounding.md about the bench: requirements, errors seen, and stability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import train_grounding as training

import sgi
from sgi.bench.bench import bench, perturb_rows
from sgi.bench.catalogue import PERTURBATIONS
from sgi.bench.detection import is_paraphrase
from sgi.bench.measures import share_interval
from sgi.bench.page import alarms_of
from sgi.bench.perturbation import Kind, Others
from sgi.io.dataset import open_dataset
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sgi.bench.matrix import Bench, Cell

BENCHED = ("RAGTruth QA", "BEGIN")
BENCH_ROWS = 100
SWAP = "number_swap"
ADDED = ("irrelevant_behind", "irrelevant_before")
NEAR = 0.02
USUAL = 0.98
NONE = "–"


def benches(folder: Path) -> dict[str, Bench]:
    """The bench of the detector, beside two metrics of geometry, on sets with passages."""
    metrics = ["grounding", "sgi", "theta_rc"]
    return {name: bench(folder / training.SETS[name], metrics, n=BENCH_ROWS) for name in BENCHED}


class Found(NamedTuple):
    """The detector's result for a row.

    Attributes:
        score: NaN where there is none.
        failing: the facts that no passage supports, None where there is no evidence.
    """

    score: float
    failing: frozenset[str] | None


class Pair(NamedTuple):
    """A row before and after a change.

    Attributes:
        before: the result for the row as it is.
        after: the result for the changed row.
        cluster: rows that share a question have the same number.
    """

    before: Found
    after: Found
    cluster: int


def entailment_pairs_of(path: Path) -> dict[str, list[Pair]]:
    """A set's grounded rows beside what swaps, paraphrases and added passages made of them, by change."""
    everything = [sample for sample in open_dataset(path).samples() if sample.label is not None]
    rows = [sample for sample in everything if sample.label]
    changes = [one for one in PERTURBATIONS.values() if one.name in {SWAP, *ADDED} or is_paraphrase(one)]
    paired = perturb_rows(rows, changes, Others(everything), seed=0)
    scores = sgi.evaluate(paired.all_rows(), "grounding")["grounding"]
    known = zip(scores.values.tolist(), scores.details, strict=True)
    found = [Found(value, failing(details)) for value, details in known]
    made, start, clusters = {}, len(rows), paired.clusters
    for one in changes:
        places = paired.changed[one.name][0].tolist()
        made[one.name] = [
            Pair(found[row], found[start + at], int(clusters[row])) for at, row in enumerate(places)
        ]
        start += len(places)
    return made


def failing(details: Mapping[str, Any]) -> frozenset[str] | None:
    """The facts of a row that no passage supports; None of a row without evidence."""
    if not details:
        return None
    checks = (
        check for sentence in EvidenceMap.model_validate(dict(details)).sentences for check in sentence.checks
    )
    return frozenset(check.fact for check in checks if check.verdict != "supported")


def newly_marked(pairs: Sequence[Pair], *, lost: bool) -> str:
    """The share of rows with a fact marked that was not marked before, with its interval, of how many.

    Args:
        pairs: the rows.
        lost: whether a row that loses its evidence counts as marked.
    """
    if not pairs:
        return NONE
    marked = [
        lost and before.failing is not None
        if after.failing is None
        else bool(after.failing - (before.failing or frozenset()))
        for before, after, _ in pairs
    ]
    return f"{share_of(marked, pairs)} of {len(marked):,}"


def share_of(marked: Sequence[bool] | NDArray[np.bool_], pairs: Sequence[Pair]) -> str:
    """A share of pairs with its 95 % interval over questions, if there are enough."""
    values = np.asarray(marked, dtype=np.float64)
    interval = share_interval(values, np.array([pair.cluster for pair in pairs]))
    return f"{values.mean():.3f}" + (
        "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
    )


def near(pairs: Sequence[Pair]) -> str:
    """The share of rows whose score changes little; rows that lose it do not; and how far scores move."""
    known = [pair for pair in pairs if math.isfinite(pair.before.score)]
    moves = np.array([abs(pair.after.score - pair.before.score) for pair in known])
    still = moves[np.isfinite(moves)]
    if not len(still):
        return NONE
    most = np.quantile(still, USUAL, method="higher")
    lost = f", {len(moves) - len(still):,} lost" if len(moves) > len(still) else ""
    share = f"{share_of(moves <= NEAR, known)} of {len(moves):,}"
    return f"{share}; mean {still.mean():.3f}, 98th percentile {most:.3f}{lost}"


def demands(made: Mapping[str, Bench], folder: Path) -> str:
    """The requirements on the detector, and what was measured."""
    rows = [
        (name, *row)
        for name, one in made.items()
        for row in demanded(one, entailment_pairs_of(folder / training.SETS[name]))
    ]
    return Table(
        ("set", "requirement", "limit", "measured"), rows, left=("requirement", "limit", "measured")
    ).markdown()


def demanded(one: Bench, pairs: Mapping[str, list[Pair]]) -> list[tuple[str, str, str]]:
    """The requirements on one set; what could not be measured is shown as missing, never as met."""
    alarm = next((alarm for alarm in one.alarms if alarm.metric == "grounding"), None)
    swapped = seen(one.cell("grounding", SWAP))
    alarms = NONE if alarm is None else alarms_of(alarm)
    falls = "" if alarm is None else f", threshold {alarm.fall:.3f}"
    worded = [pair for name, some in pairs.items() if name not in {SWAP, *ADDED} for pair in some]
    return [
        (
            "number swaps with a newly marked fact",
            "≥ 0.98",
            newly_marked(pairs.get(SWAP, []), lost=False),
        ),
        ("correct paraphrases with a newly marked fact", "≤ 0.02", newly_marked(worded, lost=True)),
        ("number swaps detected by the score", "≥ 0.98", swapped + falls),
        ("false alarms at this threshold, on other questions", "≤ 0.02", alarms),
        *(
            (
                f"{name} (passages added): share of answers whose score changes by at most {NEAR}",
                "all",
                near(pairs.get(name, [])),
            )
            for name in ADDED
        ),
    ]


def errors_seen(made: Mapping[str, Bench]) -> str:
    """The share of errors seen, at the threshold that two in a hundred paraphrases exceed."""
    rows = [
        (
            f"{name}, {one.name}",
            f"{one.applied:,}",
            *(seen(bench.cell(metric, one.name)) for metric in bench.metrics),
        )
        for name, bench in made.items()
        for one in bench.changes
        if one.kind is Kind.ERROR
    ]
    return Table(("errors", "rows", *next(iter(made.values())).metrics), rows).markdown()


def seen(cell: Cell | None) -> str:
    """A share with its interval, if there were enough rows, and how many rows were lost."""
    if cell is None or cell.seen is None:
        return NONE
    lost = f", {cell.lost:,} lost" if cell.lost else ""
    shown = f"{cell.seen:.3f}"
    if cell.seen_low is not None:
        shown += f" [{cell.seen_low:.2f}, {cell.seen_high:.2f}]"
    return shown + lost


def steadiness(made: Mapping[str, Bench]) -> str:
    """How far the score moves under harmless changes: mean, 98th percentile, and greatest change."""
    rows = [
        (f"{name}, {one.name}", f"{one.applied:,}", *moves(bench.cell("grounding", one.name)))
        for name, bench in made.items()
        for one in bench.changes
        if one.kind is Kind.HARMLESS
    ]
    return Table(
        ("harmless changes", "rows", "lost", "mean absolute change", "98th percentile", "maximum"), rows
    ).markdown()


def moves(cell: Cell | None) -> list[str]:
    """How many rows of a cell were lost, and its absolute changes."""
    if cell is None:
        return [NONE] * 4
    found = (cell.mean_change, cell.most_change, cell.worst_change)
    return [f"{cell.lost:,}", *(NONE if value is None else f"{value:.3f}" for value in found)]
