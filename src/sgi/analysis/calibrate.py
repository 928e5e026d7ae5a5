"""Fits a calibration on the labelled rows of a run, and evaluates it out of fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sgi.analysis.fit_thresholds import CalibrationData, fit_thresholds
from sgi.analysis.labelling import labels_drawn_by
from sgi.analysis.labels import yes_no_labels
from sgi.analysis.score_origin import origin_of
from sgi.engine.calibration_file import FORMAT, CalibrationFile
from sgi.engine.calibration_parts import (
    CHANCE,
    MAX_REFERENCE,
    ContentWords,
    Discrimination,
    Quality,
    Reference,
)
from sgi.engine.run_recorder import require_texts
from sgi.engine.stored_options import stored_definitions
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import SCORE
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.short_text import pluralize
from sgi.metrics.calibrated_metric import map_inputs
from sgi.metrics.definitions import Definitions
from sgi.metrics.grounding.content_precision import content_word_precisions
from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.calibration import (
    brier,
    error_by_chance,
    expected_calibration_error,
    grouped_folds,
    out_of_fold_probabilities,
)
from sgi.stats.conformal import one_row_per_cluster
from sgi.stats.intervals import interval_or_none
from sgi.stats.logistic_map import fit_logistic
from sgi.stats.probability_maps import fit_isotonic
from sgi.stats.ranking import auroc
from sgi.stats.two_samples import UNLIKELY, compare_labelled
from sgi.store.bulk_rows import chunks
from sgi.store.human_labels import default_label
from sgi.store.label_consensus import ALL_PEOPLE, DRAWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.engine.calibration_parts import Target
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn, MetricProvenance
    from sgi.stats.two_samples import TwoSamples
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

    Folds = Sequence[NDArray[np.int64]]

MIN_ROWS = 30
"""Least number of labelled rows with a value for probabilities."""

MIN_OF_LABEL = 8
"""Least number of these rows with each label.

From these numbers on, the 95 % interval of a fitted probability covers the true one in at least 93 % of the
simulated data sets with a logistic curve (docs/internals/statistics.md).
"""

MIN_QUESTIONS = 15
"""Least number of questions of these rows."""

MIN_THRESHOLD_ROWS = 200
"""Least number of labelled rows with a value for thresholds, and for an isotonic map."""

MIN_THRESHOLD_QUESTIONS = 100
"""Least number of questions of these rows.

With 100 questions with grounded answers, the true false positive rate of a threshold for 5 % follows
Beta(5, 96): it is 2 to 10 % in 19 of 20 calibrations. With fewer questions it varies too much.
"""

MapKind = Literal["logistic", "isotonic"]
"""Kind of the map from scores to probabilities: a logistic curve, or isotonic regression."""

_NO_DEFINITIONS = Definitions()


def calibrate(
    database: Database,
    record: RunRecord,
    metric: str,
    target: Target | None = None,
    *,
    label: str | None = None,
    bins: int = 4,
    kind: MapKind = "logistic",
    define: Definitions = _NO_DEFINITIONS,
) -> CalibrationFile:
    """Fit a probability map, and for a target also thresholds, on the labelled rows of a run.

    The guarantee of a target is for grounded answers to questions like those of the run, one answer for each
    question: on average over such runs, at most the target share of these answers is flagged (scores below
    the threshold), overall and within each group of similar length. With a confidence, this is so in that
    share of such runs, in all groups at once. If a question has several grounded answers, a fixed seed
    selects one; the share of all rows is not bounded. The map is fitted on all rows.

    Args:
        database: the database of the run.
        record: the run, finished.
        metric: one of its metrics.
        target: the guaranteed error rate; None for probabilities without thresholds.
        label: the column of labels, in which yes or 1 means grounded; None as in `default_label`. The map of
            ``people:METRIC`` needs no weights: how a row was drawn depends on its score only.
        bins: largest number of groups of similar length (strata), each with its own threshold.
        kind: the kind of map from scores to probabilities.
        define: definitions that the metric uses, if the run does not store them.

    Raises:
        UsageError: the run is not finished, lacks the metric, or does not record its origin; there are too
            few labelled rows, questions or rows of a label; they are not a random sample (with a target); or
            the metric ranks in reverse.
        DataError: a label cannot be read.
    """
    _check(record, bins, kind)
    label = label or default_label(database, record)
    is_drawn = label.startswith(DRAWN)
    if is_drawn:
        run, labels = labels_drawn_by(database, record, label, metric)
    else:
        run, labels = yes_no_labels(database, record, label)
    column = run.metric(metric)
    definitions = _definitions_of(column, stored_definitions(record).with_others(define))
    origin = origin_of(record, column, definitions.metrics)
    rows = _calibration_data(run, column, labels)
    known = np.array([value is not None for value in labels], dtype=np.bool_)
    ok, reference = column.ok, rows
    test = None if is_drawn else compare_labelled(column.values[ok], known[ok], run.clusters[ok])
    if target is not None:
        _require_random_sample(run, column, test, label)
    if is_drawn:  # whose scores are not those of a run
        reference = _calibration_data(run, column, (0.0,) * len(labels))
    fit = _Fit(record, column, origin, rows, reference, label, kind, definitions, test)
    fit.require_enough(run, thresholds=target is not None)
    if target is not None:
        _require_confidence(record, rows, target)
    return fit.calibration(target, bins)


def _check(record: RunRecord, bins: int, kind: str) -> None:
    if bins < 1:
        raise UsageError(f"`bins` must be 1 or more, not {bins}.")
    if kind not in get_args(MapKind):
        raise UsageError(f"`kind` must be {' or '.join(get_args(MapKind))}, not {kind!r}.")
    if not record.finished:
        message = (
            f"The run {record.label} is not finished: {record.scored:,} of {pluralize(record.rows, 'row')}."
        )
        raise UsageError(message, hint=f"Resume it first: sgi run --resume {record.id}.")
    require_texts(record, "A calibration (its thresholds depend on the length of the response)")


def _require_random_sample(run: Run, column: MetricColumn, test: TwoSamples | None, label: str) -> None:
    """Raise UsageError if thresholds have no guarantee, because of how the labelled rows were chosen."""
    hint = "Label rows in random order (--label people), or omit the target."
    if label == ALL_PEOPLE or label.startswith(DRAWN):
        message = f"A target needs a random sample of rows; the rows labelled in {label!r} are not one."
        raise UsageError(message, hint=hint)
    if test is not None and test.p <= UNLIKELY:
        raise UsageError(
            f"A target needs a random sample of rows. The labelled rows of {run.name} have other scores of "
            f"{column.metric} than the rest: Kolmogorov-Smirnov distance {test.distance:.2f}, "
            f"p = {test.p:.3f}.",
            hint=hint,
        )


def _require_confidence(record: RunRecord, rows: CalibrationData, target: Target) -> None:
    """Raise UsageError if the labelled rows are too few for the confidence of a target."""
    found, needed = int((rows.one_per_question & rows.truth).sum()), target.questions_needed
    if target.confidence is not None and found < needed:
        what = f"fpr={target.value:g} with a confidence of {target.confidence:.4g}"
        message = f"{what} needs {needed:,} questions with a grounded answer; {record.label} has {found:,}."
        hint = f"Label {needed - found:,} more such questions, or omit the confidence for a rate on average."
        raise UsageError(message, hint=hint)


def _definitions_of(column: MetricColumn, known: Definitions) -> Definitions:
    """Return the definitions that a metric uses; raises UsageError if they are not known."""
    if "definition=" not in column.metric:
        return Definitions()
    try:
        return Definitions.used_by([named_metric(column.metric, known.metrics)])
    except UsageError as error:
        hint = "Name the file that defines it with `define`."
        raise UsageError(f"{column.name} cannot be calibrated: {error.message}", hint=hint) from error


def _calibration_data(
    run: Run, column: MetricColumn, labels: tuple[float | str | None, ...]
) -> CalibrationData:
    known = np.array([value is not None for value in labels], dtype=np.bool_)
    used = known & column.ok
    lengths: list[int] = []
    precisions: list[float] = []
    for rows in chunks(zip(run.fields("response", "contexts"), used.tolist(), strict=True)):
        lengths += [len(response) for (response, _), _ in rows]
        measured = content_word_precisions(texts if use else ("", ()) for texts, use in rows)
        precisions += [
            value if contexts else np.nan for value, ((_, contexts), _) in zip(measured, rows, strict=True)
        ]
    truth = np.array([value == 1 for value in labels], dtype=np.bool_)
    sign = 1.0 if column.higher_is_better else -1.0
    return CalibrationData(
        sign * column.values[used],
        truth[used],
        np.array(lengths, dtype=np.int64)[used],
        run.clusters[used],
        np.array(precisions, dtype=np.float64)[used],
        run.clusters[known & ~column.ok],
        np.array(lengths, dtype=np.int64)[known & ~column.ok],
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """The labelled rows of a run, and what a calibration of them is fitted for."""

    record: RunRecord
    column: MetricColumn
    origin: MetricProvenance
    rows: CalibrationData
    reference: CalibrationData
    label: str
    kind: MapKind
    definitions: Definitions
    sampling: TwoSamples | None

    @property
    def sign(self) -> float:
        return 1.0 if self.column.higher_is_better else -1.0

    @property
    def log_odds(self) -> bool:
        """Whether the map takes log odds of the scores, which are in [0, 1] but not probabilities."""
        return self.column.unit == SCORE and (self.column.low, self.column.high) == (0.0, 1.0)

    @property
    def inputs(self) -> NDArray[np.float64]:
        """The inputs of the probability map, scores or their log odds, shape (n,)."""
        return map_inputs(
            self.sign * self.rows.values,
            higher_is_better=self.column.higher_is_better,
            log_odds=self.log_odds,
        )

    def require_enough(self, run: Run, *, thresholds: bool) -> None:
        """Raise UsageError if there are too few rows, questions or rows of a label."""
        rows, questions = len(self.rows.truth), len(np.unique(self.rows.clusters))
        large = thresholds or self.kind == "isotonic"
        least_rows = MIN_THRESHOLD_ROWS if large else MIN_ROWS
        least_questions = MIN_THRESHOLD_QUESTIONS if large else MIN_QUESTIONS
        of_label = {
            "grounded": int(self.rows.truth.sum()),
            "not grounded": int((~self.rows.truth).sum()),
        }
        lacking = [
            f"{MIN_OF_LABEL - count} more {name}" for name, count in of_label.items() if count < MIN_OF_LABEL
        ]
        if rows < least_rows:
            lacking.append(f"{least_rows - rows:,} more in all")
        if questions < least_questions:
            lacking.append(pluralize(least_questions - questions, "more question"))
        if not lacking:
            return
        gaps = (
            f" ({len(self.rows.undefined_clusters):,} more have no value)"
            if len(self.rows.undefined_clusters)
            else ""
        )
        message = (
            f"{self.record.label} has {pluralize(rows, 'row')} with a label in {self.label!r} and a value of"
            f" {self.column.metric}{gaps}, of {pluralize(questions, 'question')}:"
            f" {of_label['grounded']:,} grounded, {of_label['not grounded']:,} not."
        )
        kind = "An isotonic map needs" if self.kind == "isotonic" else "Probabilities need"
        least = f"{'A target needs' if thresholds else kind} {least_rows} rows of {least_questions} questions"
        smaller = (
            f" For probabilities without thresholds, {MIN_ROWS} rows are enough: omit the target."
            if thresholds
            else ""
        )
        smaller = f" For a logistic map, {MIN_ROWS} rows are enough." if large and not thresholds else smaller
        notes = " ".join(["", *run.clustering.notes(len(run.ids))])
        hint = f"{least}, {MIN_OF_LABEL} of each label. Label {', '.join(lacking)}.{smaller}{notes}"
        raise UsageError(message, hint=hint)

    def calibration(self, target: Target | None, bins: int) -> CalibrationFile:
        """Fit the probability map, and thresholds if a target is given."""
        rows, record, column = self.rows, self.record, self.column
        try:
            folds = grouped_folds(rows.truth, rows.clusters)
        except ValueError as error:
            hint = "Label rows of both kinds for several questions."
            raise UsageError(f"{record.label} cannot be calibrated: {error}", hint=hint) from error
        return CalibrationFile(
            format=FORMAT,
            metric=column.metric,
            version=column.version,
            higher_is_better=column.higher_is_better,
            encoders=self.origin.models,
            judge=self.origin.judge or None,
            prompts=self.origin.prompts,
            run=record.id,
            dataset=record.dataset,
            label=self.label,
            rows=len(rows.truth),
            positives=int(rows.truth.sum()),
            negatives=int((~rows.truth).sum()),
            cluster=record.cluster,
            clusters=len(np.unique(rows.clusters)),
            left_out=len(rows.undefined_clusters),
            sampling=self.sampling,
            ranking=self._discrimination(),
            words=_content_words(rows) if self.reference is rows else None,
            reference=_reference(self.reference, self.sign),
            log_odds=self.log_odds,
            map=(
                fit_logistic(self.inputs, rows.truth, rows.clusters)
                if self.kind == "logistic"
                else fit_isotonic(self.inputs, rows.truth)
            ),
            thresholds=target and fit_thresholds(rows, target, folds, bins=bins, sign=self.sign),
            define=self.definitions,
            quality=self._quality(folds, self.kind),
            base_rate=self._quality(folds, "base rate"),
        )

    def _discrimination(self) -> Discrimination:
        """Measure how well the metric ranks; raise UsageError if it ranks in reverse."""
        rows, column = self.rows, self.column
        area = auroc(rows.values, rows.truth)
        interval = interval_or_none(auroc_interval(rows.values, rows.truth, rows.clusters))
        assert area is not None  # noqa: S101 - rows of both labels are there
        if interval is not None and interval.high < CHANCE:
            better = "higher" if column.higher_is_better else "lower"
            shown = f"AUROC {area:.3f}, 95 % interval {interval.low:.3f} to {interval.high:.3f}"
            message = f"{column.metric} ranks the labelled rows of {self.record.label} in reverse: {shown},"
            hint = (
                f"Calibrate another metric. If yes in {self.label!r} means not grounded, use a column as"
                " `label` in which yes means grounded."
            )
            raise UsageError(f"{message} but {better} values should mean grounded.", hint=hint)
        return Discrimination(auroc=area, interval=interval)

    def _quality(self, folds: Folds, method: Literal["logistic", "isotonic", "base rate"]) -> Quality:
        truth = self.rows.truth
        probabilities = out_of_fold_probabilities(self.inputs, truth, method=method, folds=folds)
        return Quality(
            brier=brier(probabilities, truth).score,
            ece_width=expected_calibration_error(probabilities, truth, binning="width"),
            ece_mass=expected_calibration_error(probabilities, truth, binning="mass"),
            ece_chance=error_by_chance(probabilities),
        )


def _content_words(rows: CalibrationData) -> ContentWords | None:
    """Compare the metric with content-word precision; None if a label has no rows with content words."""
    area = auroc(rows.precisions[known := ~np.isnan(rows.precisions)], rows.truth[known])
    difference = auroc_difference(rows.values, rows.precisions, rows.truth, rows.clusters)
    if area is None or difference is None:
        return None
    return ContentWords(
        rows=difference.rows, auroc=area, difference=difference.value, interval=difference.interval
    )


def _reference(rows: CalibrationData, sign: float) -> Reference:
    """Draw one row of each question, of at most `MAX_REFERENCE` questions."""
    values = np.concatenate([sign * rows.values, np.full(len(rows.undefined_clusters), np.nan)])
    lengths = np.concatenate([rows.lengths, rows.undefined_lengths])
    drawn = one_row_per_cluster(np.concatenate([rows.clusters, rows.undefined_clusters]))
    if len(drawn) > MAX_REFERENCE:
        drawn = np.random.default_rng(0).choice(drawn, MAX_REFERENCE, replace=False)
    scores = values[drawn]
    own = sign * rows.values
    return Reference(
        scores=tuple(np.sort(scores[~np.isnan(scores)]).tolist()),
        lengths=tuple(np.sort(lengths[drawn]).tolist()),
        undefined=int(np.isnan(scores).sum()),
        low=float(own.min()),
        high=float(own.max()),
    )
