"""Train the weights of the grounding detector, and report how well they generalise.

The script reads the labelled sets in a folder and computes their signals with the detector. It trains on all
sets except one and tests on that one, for each set. The written weights are trained on all sets.
`docs/grounding.md` has the results.

Training has two steps. The first fits weights that separate supported answers from others *within* sets:
they are non-negative, drawn towards each other, and length is a nuisance. The second fits one slope, one
intercept and one allowance for length to all sets. Sets with short answers get longer ones for this: several
answers are joined, of which one or none is unsupported, because the weakest of many stretches is weaker by
chance. The weight of ``negation`` is chosen: too few answers of the sets negate what a passage asserts.

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
JOINED_ANSWERS = (2, 3, 4, 6, 8)
JOINED_ROWS = 600
SEED = 0
NEGATION = 2.0
"""Log odds that an answer loses with one word that it negates and a passage asserts, or the reverse."""
COUNTED = [MEASURED.index("numbers"), MEASURED.index("names")]


class Rows(NamedTuple):
    """The labelled rows of one set that have a value.

    Attributes:
        signals: shape (rows, signals), NaN for a missing signal.
        true: whether a row is supported.
        length: characters of the response.
        words: content words of the response.
        clusters: number of the question.
        missing: number of labelled rows without a value.
    """

    signals: NDArray[np.float64]
    true: NDArray[np.bool_]
    length: NDArray[np.float64]
    words: NDArray[np.int64]
    clusters: NDArray[np.int64]
    missing: int

    @property
    def measured(self) -> NDArray[np.float64]:
        """The signals of support whose weights are trained."""
        return self.signals[:, : len(MEASURED)]

    @property
    def stretches(self) -> NDArray[np.float64]:
        """The signal of length."""
        return self.signals[:, Signals._fields.index("stretches")]

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows."""
        signals, true, length = self.signals[rows], self.true[rows], self.length[rows]
        return Rows(signals, true, length, self.words[rows], self.clusters[rows], self.missing)


def read(path: Path) -> Rows:
    """Score a file, and read the signals from the details."""
    result = sgi.evaluate(path, "grounding")
    scores = result["grounding"]
    labelled = [row for row, sample in enumerate(result.samples) if sample.label is not None]
    known = [row for row in labelled if scores.ok[row]]
    samples = [result.samples[row] for row in known]
    maps = [EvidenceMap.model_validate(dict(scores.details[row])) for row in known]
    values = [[one.signals[name].value for name in Signals._fields] for one in maps]
    return Rows(
        np.array(values, dtype=np.float64),
        np.array([sample.label for sample in samples], dtype=np.bool_),
        np.array([len(sample.response) for sample in samples], dtype=np.float64),
        np.array([int(split_words(sample.response).content.sum()) for sample in samples]),
        np.array([sample.cluster(row) for row, sample in zip(known, samples, strict=True)]),
        len(labelled) - len(known),
    )


def train(sets: Sequence[Rows]) -> MonotoneLogistic:
    """Train the weights of the signals, and then scale them to log odds of support."""
    labelled = [Labelled(rows.measured, rows.true, np.log(rows.length)) for rows in sets]
    separation = fit(labelled, ridge=RIDGE)
    rng = np.random.default_rng(SEED)
    tables = [(np.column_stack([rows.measured, rows.stretches]), rows.true) for rows in sets]
    tables += [join_answers(rows, count, rng) for rows in sets if is_short(rows) for count in JOINED_ANSWERS]
    slope, allowance, intercept = fit_scale(
        [(separation.log_odds(table[:, : len(MEASURED)]), table[:, -1], true) for table, true in tables]
    )
    return MonotoneLogistic(
        np.append(separation.weights * slope, [allowance, NEGATION]),
        np.append(separation.centres, [0.0, 0.0]),
        np.append(separation.spreads, [1.0, 1.0]),
        separation.intercept * slope + intercept,
    )


def is_short(rows: Rows) -> bool:
    """Return whether most answers have only one stretch."""
    return bool(np.median(rows.stretches) == 0)


def join_answers(
    rows: Rows, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return signals and labels of answers joined from several: all parts are supported, or all but one.

    The weakest stretch is that of the weakest part; failed facts accumulate.
    """
    true, false = np.flatnonzero(rows.true), np.flatnonzero(~rows.true)
    drawn_rows = rng.choice(true, size=(JOINED_ROWS, count))
    wrong = np.arange(JOINED_ROWS) % 2 == 1
    drawn_rows[wrong, 0] = rng.choice(false, size=int(wrong.sum()))
    parts = rows.measured[drawn_rows]
    weakest = np.nanmin(np.where(np.isnan(parts), np.inf, parts), axis=1)
    weakest[:, COUNTED] = MOST_COUNTED * (1 - np.prod(1 - parts[:, :, COUNTED] / MOST_COUNTED, axis=1))
    long = [stretches(words) for words in rows.words[drawn_rows].sum(axis=1).tolist()]
    return np.column_stack([np.where(np.isinf(weakest), np.nan, weakest), long]), ~wrong


def fit_scale(
    parts: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]],
) -> tuple[float, float, float]:
    """Fit slope, allowance for length and intercept; all parts have the same total weight."""
    log_odds, long, true = (np.concatenate(column) for column in zip(*parts, strict=True))
    costs = np.concatenate([np.where(true, 0.5 / true.sum(), 0.5 / (~true).sum()) for _, _, true in parts])
    model = LogisticRegression(C=np.inf, max_iter=1000)
    model.fit(np.column_stack([log_odds, long]), true, sample_weight=costs * len(true) / costs.sum())
    return (*model.coef_[0].tolist(), float(model.intercept_[0]))


def areas(rows: Rows, scores: NDArray[np.float64]) -> tuple[Ranking | None, Ranking | None]:
    """Return how the scores rank all rows, and the rows within strata of length."""
    whole = ranking(scores, rows.true, rows.clusters)
    bins = np.digitize(rows.length, np.quantile(rows.length, np.linspace(0, 1, STRATA + 1)[1:-1]))
    within = stratified_auroc(scores, rows.true, bins, rows.clusters)
    return whole, None if within is None else within.ranking


def format_areas(rows: Rows, scores: NDArray[np.float64]) -> str:
    """Format both AUROCs with their intervals."""
    whole, within = areas(rows, scores)
    return f"{format_auroc(whole)}; within lengths {format_auroc(within)}"


def format_auroc(result: Ranking | None) -> str:
    """Format an AUROC with its interval."""
    if result is None or result.auroc is None:
        return "–"
    interval = result.interval
    limits = f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
    return f"{result.auroc:.3f}{limits}"


def train_without(sets: Mapping[str, Rows], name: str) -> MonotoneLogistic:
    """Train on all other sets."""
    return train([rows for other, rows in sets.items() if other != name])


def cross_fitted(sets: Mapping[str, Rows], name: str) -> NDArray[np.float64]:
    """Return the log odds of a set's rows, from weights trained on the other sets and the other folds."""
    rows = sets[name]
    others = [some for other, some in sets.items() if other != name]
    log_odds = np.full(len(rows.true), np.nan)
    for fold in grouped_folds(rows.true, rows.clusters):
        training = np.setdiff1d(np.arange(len(rows.true)), fold)
        log_odds[fold] = train([rows.take(training), *others]).log_odds(rows.signals[fold])
    return log_odds


def without_signal(rows: Rows, signal: str) -> Rows:
    """Return the rows with one signal set to 0."""
    signals = rows.signals.copy()
    signals[:, Signals._fields.index(signal)] = 0.0
    return rows._replace(signals=signals)


def signal_alone(rows: Rows, signal: str) -> NDArray[np.float64]:
    """Return one signal, with its median for missing values."""
    values = rows.signals[:, Signals._fields.index(signal)]
    return np.nan_to_num(values, nan=float(np.nanmedian(values)))


def balanced_rows(rows: Rows) -> NDArray[np.int64]:
    """Draw as many supported as unsupported rows, with a fixed seed."""
    rng = np.random.default_rng(SEED)
    each = int(min(rows.true.sum(), (~rows.true).sum()))
    kinds = (np.flatnonzero(rows.true), np.flatnonzero(~rows.true))
    return np.sort(np.concatenate([rng.choice(kind, each, replace=False) for kind in kinds]))


def report(sets: Mapping[str, Rows]) -> None:
    """Print the AUROC across sets, of each signal and without it, and the calibration."""
    for name, rows in sets.items():
        print(
            f"{name}: {rows.true.sum()} supported, {(~rows.true).sum()} not, {rows.missing} without a value"
        )
        for signal in Signals._fields:
            print(f"  {signal} alone: {format_areas(rows, signal_alone(rows, signal))}")
        transferred = train_without(sets, name).log_odds(rows.signals)
        print(f"  trained on the other sets: {format_areas(rows, transferred)}")
        log_odds = cross_fitted(sets, name)
        print(f"  trained on the other sets and folds: {format_areas(rows, log_odds)}")
        probabilities = out_of_fold_probabilities(log_odds, rows.true, rows.clusters)
        constant = out_of_fold_probabilities(log_odds, rows.true, rows.clusters, method="base rate")
        error = expected_calibration_error(probabilities, rows.true, binning="mass")
        scores = (brier(each, rows.true).score for each in (probabilities, constant))
        print("  out of fold: ECE {:.3f}, Brier {:.4f}, base rate {:.4f}".format(error, *scores))
        drawn = balanced_rows(rows)
        for data, values in (
            ("the other sets", transferred),
            ("the other sets and folds", log_odds),
        ):
            error = expected_calibration_error(sigmoid(values)[drawn], rows.true[drawn], binning="mass")
            print(f"  balanced rows, trained on {data}: ECE {error:.3f}")
        for signal in Signals._fields:
            fewer = {other: without_signal(some, signal) for other, some in sets.items()}
            values = train_without(fewer, name).log_odds(fewer[name].signals)
            print(f"  without {signal}: {format_areas(rows, values)}")


def main(arguments: Sequence[str]) -> None:
    """Print the report and the weights; write the weights with ``--write``."""
    folder = Path(arguments[0])
    sets = {name: read(folder / file) for name, file in SETS.items()}
    report(sets)
    model = GroundingModel.of(
        train([*sets.values()]), {name: len(rows.true) for name, rows in sets.items()}, RECIPE
    )
    text = model.model_dump_json(indent=2) + "\n"
    print(text)
    if "--write" in arguments:
        (Path(__file__).parents[1] / "src" / "sgi" / "data" / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
