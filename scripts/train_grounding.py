"""Learn how the grounding detector weighs its signals, and report how well that carries over.

Reads the labelled sets in a folder, scores them with the committed detector for the signals alone, learns the
weights on all sets but one and tests them on that one, in turn. What is written is learnt on all of them.
`docs/grounding.md` has the figures.

The weights are learnt in two steps. First what tells supported answers from others *within* sets: weights at
least 0, drawn to one another, length as a nuisance. Then one slope, one intercept and what length makes up
for, over all sets alike: where answers are short, supported ones are joined to longer ones, with one of them
unsupported or none, since the weakest of many stretches is weaker by chance.

    python scripts/train_grounding.py DATA_FOLDER [--write]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from fit_monotone_logistic import Labelled, fit
from sklearn.linear_model import LogisticRegression

import sgi
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.metrics.grounding.model import FILE, GroundingModel, sigmoid
from sgi.metrics.grounding.signals import MEASURED, MOST_COUNTED, Signals, stretches
from sgi.metrics.grounding.words import split_words
from sgi.stats.calibration import brier, expected_calibration_error, grouped_folds, out_of_fold_probabilities
from sgi.stats.confounds import stratified_auroc
from sgi.stats.monotone_logistic import MonotoneLogistic
from sgi.stats.ranking import ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.stats.ranking import Ranking

SETS = {
    "RAGTruth QA": "ragtruth_qa_test.jsonl",
    "BEGIN": "begin.jsonl",
    "HaluEval QA, equal lengths": "halueval_qa_lenmatched.jsonl",
}
RIDGE = 100.0
STRATA = 5
RECIPE = "scripts/train_grounding.py"
JOINED = (2, 3, 4, 6, 8)
EACH = 600
SEED = 0
COUNTED = [MEASURED.index("numbers"), MEASURED.index("names")]


class Rows(NamedTuple):
    """The labelled rows of one set that have a value."""

    signals: NDArray[np.float64]
    true: NDArray[np.bool_]
    length: NDArray[np.float64]
    words: NDArray[np.int64]
    clusters: NDArray[np.int64]
    left_out: int

    @property
    def measured(self) -> NDArray[np.float64]:
        """The signals that speak of support."""
        return self.signals[:, : len(MEASURED)]

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Some of them."""
        signals, true, length = self.signals[rows], self.true[rows], self.length[rows]
        return Rows(signals, true, length, self.words[rows], self.clusters[rows], self.left_out)


def read(path: Path) -> Rows:
    """Score a file, and take the signals from the details."""
    result = sgi.evaluate(path, "grounding")
    scores = result["grounding"]
    labelled = [place for place, sample in enumerate(result.samples) if sample.label is not None]
    known = [place for place in labelled if scores.ok[place]]
    samples = [result.samples[place] for place in known]
    maps = [EvidenceMap.model_validate(dict(scores.details[place])) for place in known]
    values = [[found.signals[name].value for name in Signals._fields] for found in maps]
    return Rows(
        np.array(values, dtype=np.float64),
        np.array([sample.label for sample in samples], dtype=np.bool_),
        np.array([len(sample.response) for sample in samples], dtype=np.float64),
        np.array([int(split_words(sample.response).content.sum()) for sample in samples]),
        np.array([sample.cluster(place) for place, sample in zip(known, samples, strict=True)]),
        len(labelled) - len(known),
    )


def learnt(sets: Sequence[Rows]) -> MonotoneLogistic:
    """What is learnt of some sets: which signals tell, and then how probable that makes support."""
    labelled = [Labelled(rows.measured, rows.true, np.log(rows.length)) for rows in sets]
    telling = fit(labelled, ridge=RIDGE)
    rng = np.random.default_rng(SEED)
    tables = [(rows.signals, rows.true) for rows in sets]
    tables += [joined(rows, count, rng) for rows in sets if short(rows) for count in JOINED]
    slope, allowance, intercept = scaled(
        [(telling.log_odds(table[:, : len(MEASURED)]), table[:, -1], true) for table, true in tables]
    )
    return MonotoneLogistic(
        np.append(telling.weights * slope, allowance),
        np.append(telling.centres, 0.0),
        np.append(telling.spreads, 1.0),
        telling.intercept * slope + intercept,
    )


def short(rows: Rows) -> bool:
    """Whether most answers are no longer than one stretch."""
    return bool(np.median(rows.signals[:, -1]) == 0)


def joined(rows: Rows, count: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Signals of answers put together from several: all of them supported, or all but one.

    The weakest stretch is that of the weakest part; facts that fail add up.
    """
    true, false = np.flatnonzero(rows.true), np.flatnonzero(~rows.true)
    chosen = rng.choice(true, size=(EACH, count))
    wrong = np.arange(EACH) % 2 == 1
    chosen[wrong, 0] = rng.choice(false, size=int(wrong.sum()))
    parts = rows.measured[chosen]
    weakest = np.nanmin(np.where(np.isnan(parts), np.inf, parts), axis=1)
    weakest[:, COUNTED] = MOST_COUNTED * (1 - np.prod(1 - parts[:, :, COUNTED] / MOST_COUNTED, axis=1))
    long = [stretches(words) for words in rows.words[chosen].sum(axis=1).tolist()]
    return np.column_stack([np.where(np.isinf(weakest), np.nan, weakest), long]), ~wrong


def scaled(
    parts: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]],
) -> tuple[float, float, float]:
    """Slope, allowance for length and intercept, learnt of log odds and stretches; each part counts alike."""
    odds, long, true = (np.concatenate(column) for column in zip(*parts, strict=True))
    costs = np.concatenate([np.where(true, 0.5 / true.sum(), 0.5 / (~true).sum()) for _, _, true in parts])
    model = LogisticRegression(C=np.inf, max_iter=1000)
    model.fit(np.column_stack([odds, long]), true, sample_weight=costs * len(true) / costs.sum())
    return (*model.coef_[0].tolist(), float(model.intercept_[0]))


def areas(rows: Rows, scores: NDArray[np.float64]) -> tuple[Ranking | None, Ranking | None]:
    """How scores rank the rows: all of them, and within strata of length."""
    whole = ranking(scores, rows.true, rows.clusters)
    bins = np.digitize(rows.length, np.quantile(rows.length, np.linspace(0, 1, STRATA + 1)[1:-1]))
    within = stratified_auroc(scores, rows.true, bins, rows.clusters)
    return whole, None if within is None else within.ranking


def told(rows: Rows, scores: NDArray[np.float64]) -> str:
    """Areas with their intervals, in words."""
    whole, within = areas(rows, scores)
    return f"{area(whole)}; within lengths {area(within)}"


def area(found: Ranking | None) -> str:
    """An area under the curve with its interval."""
    if found is None or found.auroc is None:
        return "–"
    interval = found.interval
    shown = f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
    return f"{found.auroc:.3f}{shown}"


def left_out(sets: Mapping[str, Rows], name: str) -> MonotoneLogistic:
    """What is learnt of all other sets."""
    return learnt([rows for other, rows in sets.items() if other != name])


def within(sets: Mapping[str, Rows], name: str) -> NDArray[np.float64]:
    """Log odds of a set's rows, each from weights learnt of the other sets and of the other folds."""
    rows = sets[name]
    others = [found for other, found in sets.items() if other != name]
    odds = np.full(len(rows.true), np.nan)
    for fold in grouped_folds(rows.true, rows.clusters):
        kept = np.setdiff1d(np.arange(len(rows.true)), fold)
        odds[fold] = learnt([rows.take(kept), *others]).log_odds(rows.signals[fold])
    return odds


def without(rows: Rows, signal: str) -> Rows:
    """The rows as if one signal were the same of all."""
    signals = rows.signals.copy()
    signals[:, Signals._fields.index(signal)] = 0.0
    return rows._replace(signals=signals)


def alone(rows: Rows, signal: str) -> NDArray[np.float64]:
    """One signal, its median where there is none."""
    values = rows.signals[:, Signals._fields.index(signal)]
    return np.nan_to_num(values, nan=float(np.nanmedian(values)))


def balanced(rows: Rows) -> NDArray[np.int64]:
    """Rows with as many supported as not, drawn with a fixed seed."""
    rng = np.random.default_rng(SEED)
    each = int(min(rows.true.sum(), (~rows.true).sum()))
    kinds = (np.flatnonzero(rows.true), np.flatnonzero(~rows.true))
    return np.sort(np.concatenate([rng.choice(kind, each, replace=False) for kind in kinds]))


def report(sets: Mapping[str, Rows]) -> None:
    """Print what carries over, what each signal is worth, and how good the probabilities are."""
    for name, rows in sets.items():
        print(
            f"{name}: {rows.true.sum()} supported, {(~rows.true).sum()} not, {rows.left_out} without a value"
        )
        for signal in Signals._fields:
            print(f"  {signal} alone: {told(rows, alone(rows, signal))}")
        print(f"  learnt on the other sets: {told(rows, left_out(sets, name).log_odds(rows.signals))}")
        odds = within(sets, name)
        print(f"  and on the other folds: {told(rows, odds)}")
        chance = out_of_fold_probabilities(odds, rows.true, rows.clusters)
        constant = out_of_fold_probabilities(odds, rows.true, rows.clusters, method="base rate")
        error = expected_calibration_error(chance, rows.true, binning="mass")
        scores = (brier(found, rows.true).score for found in (chance, constant))
        print("  out of fold: ECE {:.3f}, Brier {:.4f}, of the base rate {:.4f}".format(error, *scores))
        even = balanced(rows)
        for words, plain in (
            ("of the other sets", left_out(sets, name).log_odds(rows.signals)),
            ("of all", odds),
        ):
            error = expected_calibration_error(sigmoid(plain)[even], rows.true[even], binning="mass")
            print(f"  as many supported as not, weights {words}: ECE {error:.3f}")
        for signal in Signals._fields:
            fewer = {other: without(found, signal) for other, found in sets.items()}
            print(f"  without {signal}: {told(rows, left_out(fewer, name).log_odds(fewer[name].signals))}")


def main(words: Sequence[str]) -> None:
    """Report, and write the weights if told."""
    folder = Path(words[0])
    sets = {name: read(folder / file) for name, file in SETS.items()}
    report(sets)
    made = GroundingModel.of(
        learnt([*sets.values()]), {name: len(rows.true) for name, rows in sets.items()}, RECIPE
    )
    text = made.model_dump_json(indent=2) + "\n"
    print(text)
    if "--write" in words:
        (Path(__file__).parents[1] / "src" / "sgi" / "data" / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
