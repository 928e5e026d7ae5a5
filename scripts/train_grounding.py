"""Learns how the grounding detector weighs its signals, from labelled rows, and tells how that carries over.

The signals are those that the metric itself reports. Every set counts the same, weights are at least 0 and are
drawn towards one another, and length is a nuisance that is fitted and dropped. Each set is then scored with
weights that were learnt on the others: that is what to expect of data nobody has seen.

    python scripts/train_grounding.py DATA_FOLDER [--write]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import sgi
from sgi.metrics.support.combination import FILE, Combination, probability
from sgi.metrics.support.signals import Signals
from sgi.stats.calibration import brier, expected_calibration_error, folds_of, out_of_fold
from sgi.stats.confounds import stratified_auroc
from sgi.stats.monotone_logistic import Labelled, MonotoneLogistic, fit
from sgi.stats.ranking import auroc_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

SETS = {
    "RAGTruth QA": "ragtruth_qa_test.jsonl",
    "BEGIN": "begin.jsonl",
    "HaluEval QA, equal lengths": "halueval_qa_lenmatched.jsonl",
}
RIDGE = 100.0
STRATA = 5
RECIPE = "scripts/train_grounding.py"


class Rows(NamedTuple):
    """The labelled rows of one set that have a value."""

    signals: NDArray[np.float64]
    true: NDArray[np.bool_]
    length: NDArray[np.float64]
    clusters: NDArray[np.int64]
    left_out: int

    @property
    def labelled(self) -> Labelled:
        """As the fit takes them."""
        return Labelled(self.signals, self.true, np.log(self.length))

    def take(self, rows: NDArray[np.int64]) -> Labelled:
        """Some of them."""
        return Labelled(self.signals[rows], self.true[rows], np.log(self.length[rows]))


def read(path: Path) -> Rows:
    """Score a file, and take the signals from the details."""
    made = sgi.evaluate(path, "grounding")
    scores = made["grounding"]
    known = [
        (place, sample)
        for place, sample in enumerate(made.samples)
        if sample.label is not None and scores.ok[place]
    ]
    values = [[scores.details[place]["signals"][name]["value"] for name in Signals._fields] for place, _ in known]
    labelled = sum(sample.label is not None for sample in made.samples)
    return Rows(
        np.array(values, dtype=np.float64),
        np.array([sample.label for _, sample in known], dtype=np.bool_),
        np.array([len(sample.response) for _, sample in known], dtype=np.float64),
        np.array([sample.cluster(place) for place, sample in known]),
        labelled - len(known),
    )


def told(rows: Rows, odds: NDArray[np.float64]) -> str:
    """Areas with their intervals, over all rows and within strata of length."""
    whole = auroc_interval(odds, rows.true, rows.clusters)
    bins = np.digitize(rows.length, np.quantile(rows.length, np.linspace(0, 1, STRATA + 1)[1:-1]))
    within = stratified_auroc(odds, rows.true, bins, rows.clusters)
    return f"{_area(whole)}; within lengths {_area(within.ranking if within else None)}"


def _area(found: object) -> str:
    if found is None or getattr(found, "auroc", None) is None:
        return "–"
    interval = found.interval  # type: ignore[attr-defined]  # a Ranking
    shown = f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
    return f"{found.auroc:.3f}{shown}"  # type: ignore[attr-defined]  # a Ranking


def left_out(sets: Mapping[str, Rows], name: str, ridge: float = RIDGE) -> MonotoneLogistic:
    """What is learnt of all other sets."""
    return fit([rows.labelled for other, rows in sets.items() if other != name], ridge=ridge)


def within(sets: Mapping[str, Rows], name: str, ridge: float = RIDGE) -> NDArray[np.float64]:
    """Log odds of a set's rows, each from weights learnt of the other sets and of the other folds."""
    rows = sets[name]
    others = [found.labelled for other, found in sets.items() if other != name]
    odds = np.full(len(rows.true), np.nan)
    for fold in folds_of(rows.true, rows.clusters):
        kept = np.setdiff1d(np.arange(len(rows.true)), fold)
        odds[fold] = fit([rows.take(kept), *others], ridge=ridge).log_odds(rows.signals[fold])
    return odds


def without(sets: Mapping[str, Rows], column: int) -> dict[str, Rows]:
    """The sets without one signal."""
    return {name: rows._replace(signals=np.delete(rows.signals, column, axis=1)) for name, rows in sets.items()}


def report(sets: Mapping[str, Rows]) -> None:
    """Print what carries over, what each signal is worth, and how good the probabilities are."""
    for name, rows in sets.items():
        print(f"{name}: {rows.true.sum()} supported, {(~rows.true).sum()} not, {rows.left_out} without a value")
        for column, signal in enumerate(Signals._fields):
            values = np.nan_to_num(rows.signals[:, column], nan=float(np.nanmedian(rows.signals[:, column])))
            print(f"  {signal} alone: {told(rows, values)}")
        print(f"  learnt on the other sets: {told(rows, left_out(sets, name).log_odds(rows.signals))}")
        odds = within(sets, name)
        print(f"  and on the other folds: {told(rows, odds)}")
        chance = out_of_fold(odds, rows.true, rows.clusters)
        constant = out_of_fold(odds, rows.true, rows.clusters, method="base rate")
        error = expected_calibration_error(chance, rows.true)
        print(f"  out of fold: ECE {error:.3f}, Brier {brier(chance, rows.true)}, constant {brier(constant, rows.true)}")
        plain = probability(left_out(sets, name).log_odds(rows.signals))
        print(f"  uncalibrated: ECE {expected_calibration_error(plain, rows.true):.3f}")
        for column, signal in enumerate(Signals._fields):
            fewer = without(sets, column)
            odds = left_out(fewer, name).log_odds(fewer[name].signals)
            print(f"  without {signal}: {told(fewer[name], odds)}")


def main(words: Sequence[str]) -> None:
    """Report, and write the weights if told."""
    folder = Path(words[0])
    sets = {name: read(folder / file) for name, file in SETS.items()}
    report(sets)
    fitted = fit([rows.labelled for rows in sets.values()], ridge=RIDGE)
    made = Combination.of(fitted, {name: len(rows.true) for name, rows in sets.items()}, RECIPE)
    text = made.model_dump_json(indent=2) + "\n"
    print(text)
    if "--write" in words:
        (Path(__file__).parents[1] / "src" / "sgi" / "data" / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
