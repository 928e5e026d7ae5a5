"""Measure how reliable the support score is with and without 30 labels, for docs/results/reliability.md.

The script reads the sets from a folder, and replaces the parts between markers in the page. The weights are
trained without the set that they score. Equal files give equal pages.

    python scripts/reliability_page.py DATA_FOLDER
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import train_grounding as training
from page_parts import replace_parts
from sklearn.linear_model import LogisticRegression

import sgi
from sgi.io.dataset import open_dataset
from sgi.metrics.grounding.content_precision import content_word_precisions
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.metrics.grounding.model import sigmoid
from sgi.reporting.formatting import format_difference
from sgi.reporting.table import Table
from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.calibration import (
    brier,
    debiased_calibration_error,
    error_by_chance,
    expected_calibration_error,
)
from sgi.stats.intervals import Interval, interval_or_none
from sgi.stats.logistic_map import fit_logistic
from sgi.stats.means import mean_interval
from sgi.stats.ranking import ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs" / "results" / "reliability.md"
SETS = training.SETS | {
    "HaluEval QA": "halueval_qa.jsonl",
    "HaluEval dialogue": "halueval_dialogue.jsonl",
    "SummEdits": "entailment/summedits.jsonl",
    "FoolMeTwice": "entailment/fool_me_twice.jsonl",
    "FEVER-Symmetric": "entailment/fever_symmetric.jsonl",
}
TRAINING_SUBSET = {"HaluEval QA": "HaluEval QA, equal lengths"}
MAX_ROWS = 1000
"""Labelled rows of a set that is not a training set."""
LABELS = 30
DRAWS = 200
BANDS = 10
LENGTH_LABELS = (30, 100)
LENGTH_DRAWS = 50
MIN_TESTED = 50
"""A figure needs this many rows of other questions in every draw."""


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """The labelled rows of a set with a value.

    Attributes:
        rows: signals, labels and questions.
        precision: content-word precision of each row.
        log_odds: log odds of support, from weights trained without the set.
    """

    rows: training.Rows
    precision: Floats
    log_odds: Floats

    @cached_property
    def balanced(self) -> NDArray[np.int64]:
        """As many supported as unsupported rows."""
        return training.balanced_rows(self.rows)

    @property
    def true(self) -> NDArray[np.bool_]:
        """The labels of the balanced rows."""
        return self.rows.true[self.balanced]

    @property
    def odds(self) -> Floats:
        """The log odds of the balanced rows."""
        return self.log_odds[self.balanced]

    def draw(self, rng: np.random.Generator, labels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw balanced rows, half of each label; return them and the other rows."""
        sides = (np.flatnonzero(self.true), np.flatnonzero(~self.true))
        drawn = np.concatenate([rng.choice(side, labels // 2, replace=False) for side in sides])
        return drawn, np.setdiff1d(np.arange(len(self.true)), drawn)

    def of_other_questions(self, drawn: NDArray[np.int64], tested: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tested rows whose question no drawn row has."""
        clusters = self.rows.clusters[self.balanced]
        return tested[~np.isin(clusters[tested], clusters[drawn])]

    def calibrated(self, drawn: NDArray[np.int64], tested: NDArray[np.int64]) -> Floats:
        """Return the probabilities of the tested rows, from a map fitted on the drawn ones."""
        clusters = self.rows.clusters[self.balanced][drawn]
        return fit_logistic(self.odds[drawn], self.true[drawn], clusters).probability(self.odds[tested])


def read_rows(path: Path, limit: int | None) -> tuple[training.Rows, Floats]:
    """Score the labelled rows of a file; return signals and content-word precision."""
    labelled = [sample for sample in open_dataset(path).samples() if sample.label is not None][:limit]
    result = sgi.evaluate(labelled, "grounding")
    known = np.flatnonzero(result["grounding"].ok)
    samples = [result.samples[row] for row in known]
    maps = [EvidenceMap.model_validate(dict(result["grounding"].details[row])) for row in known]
    rows = training.rows_of(samples, maps, missing=len(labelled) - len(known))
    texts = ((sample.response, sample.contexts) for sample in samples)
    return rows, np.array(content_word_precisions(texts), dtype=np.float64)


def score_sets(folder: Path) -> dict[str, ScoredSet]:
    """Score all sets, each with weights that were trained without it."""
    read = {
        name: read_rows(folder / file, None if name in training.SETS else MAX_ROWS)
        for name, file in SETS.items()
    }
    trained = {name: read[name][0] for name in training.SETS}
    return {
        name: ScoredSet(
            rows,
            precision,
            training.train_without(trained, TRAINING_SUBSET.get(name, name)).log_odds(rows.signals),
        )
        for name, (rows, precision) in read.items()
    }


def labels_table(sets: Mapping[str, ScoredSet]) -> str:
    """Return the calibration error of each set before and after 30 labels."""
    lines, before_all, after_all, strict_all = [], [], [], []
    for name, one in sets.items():
        score = sigmoid(one.odds)
        before = expected_calibration_error(score, one.true, binning="mass")
        errors, strict, debiased, chance = [], [], [], []
        rng = np.random.default_rng(0)
        for _ in range(DRAWS):
            drawn, tested = one.draw(rng, LABELS)
            forecast, true = one.calibrated(drawn, tested), one.true[tested]
            errors.append(expected_calibration_error(forecast, true, binning="mass"))
            debiased.append(debiased_calibration_error(forecast, true, binning="mass"))
            chance.append(error_by_chance(forecast, binning="mass", draws=5))
            others = one.of_other_questions(drawn, tested)
            strict.append(
                expected_calibration_error(one.calibrated(drawn, others), one.true[others], binning="mass")
            )
        low, high = np.quantile(errors, [0.05, 0.95])
        before_all.append(before)
        after_all.append(float(np.mean(errors)))
        strict_all.append(float(np.mean(strict)))
        lines.append(
            (
                name,
                f"{len(one.true):,}",
                f"{before:.3f}",
                f"{debiased_calibration_error(score, one.true, binning='mass'):.3f}",
                f"{np.mean(errors):.3f} [{low:.3f}, {high:.3f}]",
                f"{np.mean(debiased):.3f}",
                f"{np.mean(chance):.3f}",
                f"{np.mean(strict):.3f}",
            )
        )
    means = [f"{np.mean(values):.3f}" for values in (before_all, after_all, strict_all)]
    lines.append(("mean", "", means[0], "", means[1], "", "", means[2]))
    columns = (
        *("set", "rows", "before: ECE", "before: debiased"),
        *("after 30 labels: ECE", "after: debiased", "ECE by chance", "after: ECE, other questions"),
    )
    return Table(columns, lines).markdown()


def bands_table(sets: Mapping[str, ScoredSet]) -> str:
    """Return the share of supported rows by band of the score, and of the calibrated probability."""
    lines = []
    for name, one in sets.items():
        drawn, tested = one.draw(np.random.default_rng(0), LABELS)
        clusters = one.rows.clusters[one.balanced]
        cells = (
            band_cells(sigmoid(one.odds), one.true, clusters),
            band_cells(one.calibrated(drawn, tested), one.true[tested], clusters[tested]),
        )
        for band, (before, after) in enumerate(zip(*cells, strict=True)):
            lines.append((name, f"{band / BANDS:.1f} to {(band + 1) / BANDS:.1f}", *before, *after))
    columns = (
        *("set", "band", "score: rows", "supported", "95 % interval"),
        *("calibrated: rows", "supported", "95 % interval"),
    )
    return Table(columns, lines).markdown()


def band_cells(
    values: Floats, true: NDArray[np.bool_], clusters: NDArray[np.int64]
) -> list[tuple[str, str, str]]:
    """Return rows, share supported and its interval for each band of the values."""
    bands = np.minimum((values * BANDS).astype(np.int64), BANDS - 1)
    cells = []
    for band in range(BANDS):
        inside = bands == band
        if not inside.any():
            cells.append(("0", "–", "–"))
            continue
        share = true[inside].astype(np.float64)
        interval = interval_or_none(mean_interval(share, clusters[inside], low=0.0, high=1.0))
        cells.append((f"{inside.sum():,}", f"{share.mean():.2f}", limits(interval)))
    return cells


def limits(interval: Interval | None) -> str:
    """Format the ends of an interval."""
    return "–" if interval is None else f"[{interval.low:.2f}, {interval.high:.2f}]"


def words_table(sets: Mapping[str, ScoredSet]) -> str:
    """Return the AUROC of the support score and of content-word precision, and the paired difference."""
    lines = []
    for name, one in sets.items():
        rows = one.rows
        found = ranking(one.log_odds, rows.true, rows.clusters)
        known = ~np.isnan(one.precision)
        words = ranking(one.precision[known], rows.true[known], rows.clusters[known])
        difference = auroc_difference(one.log_odds, one.precision, rows.true, rows.clusters)
        cells = (training.format_auroc(found), training.format_auroc(words), format_difference(difference))
        lines.append((name, f"{len(rows.true):,}", *cells))
    columns = ("set", "rows", "support score", "content-word precision", "difference")
    return Table(columns, lines).markdown()


def length_table(sets: Mapping[str, ScoredSet]) -> str:
    """Return the Brier score with and without the length of the response as a second variable."""
    lines = []
    for name, one in sets.items():
        long = np.log(one.rows.length[one.balanced])
        cells: list[str] = []
        for labels in LENGTH_LABELS:
            if min(one.true.sum(), (~one.true).sum()) < labels:
                cells += ["–", "–"]
                continue
            rng = np.random.default_rng(0)
            draws = [one.draw(rng, labels) for _ in range(LENGTH_DRAWS)]
            if min(len(tested) for _, tested in draws) < MIN_TESTED:
                cells += ["–", "–"]
                continue
            for columns in ((one.odds,), (one.odds, long)):
                table = np.column_stack(columns)
                cells.append(f"{np.mean([held_out_brier(table, one.true, *draw) for draw in draws]):.4f}")
        lines.append((name, *cells))
    heads = (f"{what}, {labels} labels" for labels in LENGTH_LABELS for what in ("score alone", "and length"))
    return Table(("set", *heads), lines).markdown()


def held_out_brier(
    table: Floats, true: NDArray[np.bool_], drawn: NDArray[np.int64], tested: NDArray[np.int64]
) -> float:
    """Return the Brier score on the tested rows of a logistic regression on the drawn ones."""
    centre, spread = table[drawn].mean(axis=0), table[drawn].std(axis=0) + 1e-9
    standard = (table - centre) / spread
    model = LogisticRegression(C=1.0).fit(standard[drawn], true[drawn])
    return brier(model.predict_proba(standard[tested])[:, 1], true[tested]).score


def main(arguments: Sequence[str]) -> None:
    """Compute all parts and write the page.

    Raises:
        SystemExit: the argument is not one folder, or a marker is missing.
    """
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.exit("Give the folder with the sets: python scripts/reliability_page.py DATA_FOLDER")
    sets = score_sets(Path(arguments[0]))
    parts = {
        "labels": labels_table(sets),
        "words": words_table(sets),
        "length": length_table(sets),
        "bands": bands_table(sets),
    }
    PAGE.write_text(replace_parts(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
