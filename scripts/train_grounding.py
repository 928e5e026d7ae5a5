"""Train the weights of the grounding detector, and report how well they generalise.

The script reads the labelled sets in a folder and computes their signals with the detector. It trains on all
sets except one and tests on that one, for each set. The written weights are trained on all sets.
`docs/results/grounding.md` has the results.

Training has two steps. The first fits weights that separate supported answers from others *within* sets:
they are non-negative, drawn towards each other, and length is a nuisance. The second fits one slope and one
intercept to all sets. The weight of ``contradicted`` is chosen: passages contradict too few answers of the
sets.

    python scripts/train_grounding.py DATA_FOLDER [--write]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
from fit_monotone_logistic import Labelled, fit
from sklearn.linear_model import LogisticRegression

import sgi
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.metrics.grounding.model import (
    FILE,
    GroundingModel,
    SentenceLimits,
    SentenceVerdict,
    grounding_model,
    sigmoid,
)
from sgi.metrics.grounding.signals import TRAINED, Signals
from sgi.stats.calibration import brier, expected_calibration_error, grouped_folds, out_of_fold_probabilities
from sgi.stats.confounds import stratified_auroc
from sgi.stats.monotone_logistic import MonotoneLogistic
from sgi.stats.ranking import ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.sample import Sample
    from sgi.stats.ranking import Ranking

SETS = {
    "RAGTruth QA": "ragtruth_qa_test.jsonl",
    "BEGIN": "begin.jsonl",
    "HaluEval QA, equal lengths": "halueval_qa_lenmatched.jsonl",
}
RIDGE = 100.0
STRATA = 5
RECIPE = "scripts/train_grounding.py"
SEED = 0
FALSE_ALARMS = (0.02, 0.10)
"""Shares of supported sentences that may be below the limits "unsupported" and "partly" supported."""
VERDICTS = get_args(SentenceVerdict)
CONTRADICTED = 4.0
"""Log odds that an answer loses with its first fact that a passage contradicts."""


class Sentences(NamedTuple):
    """Sentences that claim something and whose label is known.

    Attributes:
        signals: shape (sentences, signals), NaN for a missing signal.
        true: whether a sentence is supported.
        row: index of its row.
    """

    signals: NDArray[np.float64]
    true: NDArray[np.bool_]
    row: NDArray[np.int64]

    def take(self, places: NDArray[np.int64]) -> Sentences:
        """Return some of the sentences."""
        return Sentences(self.signals[places], self.true[places], self.row[places])

    @property
    def is_contradicted(self) -> NDArray[np.bool_]:
        """Whether a passage contradicts a fact of the sentence."""
        return np.asarray(self.signals[:, Signals._fields.index("contradicted")] < 0)


class Rows(NamedTuple):
    """The labelled rows of one set that have a value.

    Attributes:
        signals: shape (rows, signals), NaN for a missing signal.
        true: whether a row is supported.
        length: characters of the response.
        clusters: number of the question.
        missing: number of labelled rows without a value.
        sentences: the sentences whose label is known.
    """

    signals: NDArray[np.float64]
    true: NDArray[np.bool_]
    length: NDArray[np.float64]
    clusters: NDArray[np.int64]
    missing: int
    sentences: Sentences

    @property
    def trained(self) -> NDArray[np.float64]:
        """The signals whose weights are trained."""
        return self.signals[:, : len(TRAINED)]

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows."""
        signals, true, length = self.signals[rows], self.true[rows], self.length[rows]
        sentences = self.sentences.take(np.flatnonzero(np.isin(self.sentences.row, rows)))
        return Rows(signals, true, length, self.clusters[rows], self.missing, sentences)


def read(path: Path) -> Rows:
    """Score a file, and read the signals from the details."""
    result = sgi.evaluate(path, "grounding")
    scores = result["grounding"]
    labelled = [row for row, sample in enumerate(result.samples) if sample.label is not None]
    known = [row for row in labelled if scores.ok[row]]
    samples = [result.samples[row] for row in known]
    maps = [EvidenceMap.model_validate(dict(scores.details[row])) for row in known]
    return rows_of(samples, maps, missing=len(labelled) - len(known))


def rows_of(samples: Sequence[Sample], maps: Sequence[EvidenceMap], *, missing: int = 0) -> Rows:
    """Return the signals, labels and sentences of rows with a label and an evidence map."""
    values = [[one.signals[name].value for name in Signals._fields] for one in maps]
    return Rows(
        np.array(values, dtype=np.float64),
        np.array([sample.label for sample in samples], dtype=np.bool_),
        np.array([len(sample.response) for sample in samples], dtype=np.float64),
        np.array([sample.cluster(row) for row, sample in enumerate(samples)]),
        missing,
        read_sentences(samples, maps),
    )


def read_sentences(samples: Sequence[Sample], maps: Sequence[EvidenceMap]) -> Sentences:
    """Return the sentences of the responses whose label is known.

    All sentences of a supported response are supported. Those of another response have a label if there is
    only one, or if its metadata has the unsupported ``spans``: a sentence with a part of one is unsupported.
    """
    parts: list[tuple[list[float], bool, int]] = []
    for row, (sample, one) in enumerate(zip(samples, maps, strict=True)):
        claims = [sentence for sentence in one.sentences if sentence.score is not None]
        spans = sample.metadata.get("spans")
        if not sample.label and not spans and len(claims) > 1:
            continue
        for sentence in claims:
            marked = any(
                span["start"] < sentence.end and sentence.start < span["end"] for span in spans or ()
            )
            true = bool(sample.label) or (not marked and bool(spans))
            parts.append((signals_from(sentence.contributions), true, row))
    signals, true, rows = zip(*parts, strict=True)
    return Sentences(np.array(signals), np.array(true, dtype=np.bool_), np.array(rows))


def signals_from(contributions: Mapping[str, float]) -> list[float]:
    """Compute the signals of a sentence from their contributions to its log odds."""
    return [
        contributions[part.signal] / part.weight * part.spread + part.centre
        for part in grounding_model().weights
    ]


def train(sets: Sequence[Rows]) -> MonotoneLogistic:
    """Train the weights of the signals, and then scale them to log odds of support."""
    labelled = [Labelled(rows.trained, rows.true, np.log(rows.length)) for rows in sets]
    separation = fit(labelled, ridge=RIDGE)
    slope, intercept = fit_scale([(separation.log_odds(rows.trained), rows.true) for rows in sets])
    return MonotoneLogistic(
        np.append(separation.weights * slope, CONTRADICTED),
        np.append(separation.centres, 0.0),
        np.append(separation.spreads, 1.0),
        separation.intercept * slope + intercept,
    )


def fit_scale(parts: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]]) -> tuple[float, float]:
    """Fit slope and intercept; all parts have the same total weight, and so have both labels of a part."""
    log_odds, true = (np.concatenate(column) for column in zip(*parts, strict=True))
    costs = np.concatenate([np.where(true, 0.5 / true.sum(), 0.5 / (~true).sum()) for _, true in parts])
    model = LogisticRegression(C=np.inf, max_iter=1000)
    model.fit(log_odds[:, None], true, sample_weight=costs * len(true) / costs.sum())
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def choose_limits(fitted: MonotoneLogistic, sets: Sequence[Rows]) -> SentenceLimits:
    """Choose limits such that `FALSE_ALARMS` of the supported sentences are below; sets weigh the same."""
    kept = [rows.sentences.take(np.flatnonzero(rows.sentences.true)) for rows in sets]
    scores = np.concatenate([sigmoid(fitted.log_odds(sentences.signals)) for sentences in kept])
    weights = np.concatenate([np.full(len(sentences.true), 1 / len(sentences.true)) for sentences in kept])
    order = np.argsort(scores)
    shares = np.cumsum(weights[order]) / len(sets)
    found = (float(scores[order][np.searchsorted(shares, share)]) for share in FALSE_ALARMS)
    unsupported, partly = (min(max(round(limit, 3), 0.001), 0.999) for limit in found)
    return SentenceLimits(unsupported=unsupported, partly=partly)


def verdict_shares(
    fitted: MonotoneLogistic, limits: SentenceLimits, rows: Rows
) -> dict[bool, dict[SentenceVerdict, float]]:
    """Return the share of supported, and of other, sentences that have each verdict."""
    sentences = rows.sentences
    scores = sigmoid(fitted.log_odds(sentences.signals)).tolist()
    verdicts = np.array(
        [
            limits.verdict(score, is_contradicted=contradicted)
            for score, contradicted in zip(scores, sentences.is_contradicted.tolist(), strict=True)
        ]
    )
    return {
        true: {verdict: float((verdicts[sentences.true == true] == verdict).mean()) for verdict in VERDICTS}
        for true in (True, False)
    }


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
        others = [some for other, some in sets.items() if other != name]
        fitted = train(others)
        shares = verdict_shares(fitted, choose_limits(fitted, others), rows)
        for true, counts in shares.items():
            parts = ", ".join(f"{verdict} {share:.3f}" for verdict, share in counts.items())
            print(f"  {'supported' if true else 'other'} sentences: {parts}")
        for signal in Signals._fields:
            fewer = {other: without_signal(some, signal) for other, some in sets.items()}
            values = train_without(fewer, name).log_odds(fewer[name].signals)
            print(f"  without {signal}: {format_areas(rows, values)}")


def main(arguments: Sequence[str]) -> None:
    """Print the report and the weights; write the weights with ``--write``."""
    folder = Path(arguments[0])
    sets = {name: read(folder / file) for name, file in SETS.items()}
    report(sets)
    fitted = train([*sets.values()])
    counts = {name: len(rows.true) for name, rows in sets.items()}
    model = GroundingModel.of(fitted, choose_limits(fitted, [*sets.values()]), counts, RECIPE)
    text = model.model_dump_json(indent=2) + "\n"
    print(text)
    if "--write" in arguments:
        (Path(__file__).parents[1] / "src" / "sgi" / "data" / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
