"""Train the weights of the grounding detector, and report how well they generalise.

The script reads the labelled sets in a folder and computes their signals with the detector. It trains on all
sets except one and tests on that one, for each set. The written weights are trained on all sets.
`docs/grounding.md` has the results.

Training has two steps. The first fits weights that separate supported answers from others *within* sets:
they are non-negative, drawn towards each other, and length is a nuisance. The second fits one slope and one
intercept to all sets. The weights of ``contradicted`` and ``absent`` are chosen: passages contradict too few
answers of the sets.

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
from sgi.metrics.grounding.grounding_model import (
    FILE,
    GroundingModel,
    MonotoneLogistic,
    SentenceLimits,
    grounding_model,
    sigmoid,
)
from sgi.metrics.grounding.signals import TRAINED, Signals
from sgi.stats.confounds import stratified_auroc
from sgi.stats.ranking import ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.sample import Sample
    from sgi.stats.ranking import Ranking

SETS = {
    "mtRAG": "mtrag_human.jsonl",
    "RAGTruth QA": "ragtruth_qa_test.jsonl",
    "RAGTruth QA, extra": "answers/ragtruth_qa_extra.jsonl.gz",
    "BEGIN": "begin.jsonl",
    "HaluEval QA, equal lengths": "halueval_qa_lenmatched.jsonl",
}
RIDGE = 100.0
STRATA = 5
RECIPE = "scripts/train_grounding.py"
FALSE_ALARMS = (0.02, 0.10)
"""Shares of supported sentences that may be below the limits "unsupported" and "partly" supported."""
CONTRADICTED = 4.0
"""Log odds that an answer of one sentence loses with its first fact that a passage contradicts."""
ABSENT = 3.0
"""Log odds that an answer of one sentence loses with its first number, date or code that no passage has."""


class Sentences(NamedTuple):
    """Sentences that claim something and whose label is known.

    Attributes:
        signals: shape (sentences, signals), NaN for a missing signal.
        true: whether a sentence is supported.
    """

    signals: NDArray[np.float64]
    true: NDArray[np.bool_]


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
    parts: list[tuple[list[float], bool]] = []
    for sample, one in zip(samples, maps, strict=True):
        claims = [sentence for sentence in one.sentences if sentence.score is not None]
        spans = sample.metadata.get("spans")
        if not sample.label and not spans and len(claims) > 1:
            continue
        for sentence in claims:
            marked = any(
                span["start"] < sentence.end and sentence.start < span["end"] for span in spans or ()
            )
            true = bool(sample.label) or (not marked and bool(spans))
            parts.append((signals_from(sentence.contributions), true))
    signals, labels = zip(*parts, strict=True)
    return Sentences(np.array(signals), np.array(labels, dtype=np.bool_))


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
        np.append(separation.weights * slope, (CONTRADICTED, ABSENT)),
        np.append(separation.centres, (0.0, 0.0)),
        np.append(separation.spreads, (1.0, 1.0)),
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
    kept = [rows.sentences.signals[rows.sentences.true] for rows in sets]
    scores = np.concatenate([sigmoid(fitted.log_odds(signals)) for signals in kept])
    weights = np.concatenate([np.full(len(signals), 1 / len(signals)) for signals in kept])
    order = np.argsort(scores)
    shares = np.cumsum(weights[order]) / len(sets)
    found = (float(scores[order][np.searchsorted(shares, share)]) for share in FALSE_ALARMS)
    unsupported, partly = (min(max(round(limit, 3), 0.001), 0.999) for limit in found)
    return SentenceLimits(unsupported=unsupported, partly=partly)


def report(sets: Mapping[str, Rows]) -> None:
    """Print, for each set, how weights that were trained on the other sets rank it, also within lengths."""
    for name, rows in sets.items():
        log_odds = train([some for other, some in sets.items() if other != name]).log_odds(rows.signals)
        bins = np.digitize(rows.length, np.quantile(rows.length, np.linspace(0, 1, STRATA + 1)[1:-1]))
        within = stratified_auroc(log_odds, rows.true, bins, rows.clusters)
        whole = format_auroc(ranking(log_odds, rows.true, rows.clusters))
        counts = f"{rows.true.sum()} supported, {(~rows.true).sum()} not, {rows.missing} without a value"
        print(f"{name}: {counts}; AUROC {whole}; within lengths {format_auroc(within and within.ranking)}")


def format_auroc(result: Ranking | None) -> str:
    """Format an AUROC with its interval."""
    if result is None or result.auroc is None:
        return "–"
    limits = f" [{result.interval.low:.3f}, {result.interval.high:.3f}]" if result.interval else ""
    return f"{result.auroc:.3f}{limits}"


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
