"""``sgi judge calibrate``: probabilities and thresholds of a metric, from the labelled rows of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_notes, print_tables
from sgi.cli.option_values import stored_metrics
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize
from sgi.metrics.calibrated_metric import map_inputs
from sgi.reporting.formatting import format_scaled, span
from sgi.reporting.formatting import number as number_text
from sgi.reporting.table import Table
from sgi.stats.intervals import Interval
from sgi.stats.logistic_map import FIT_LEVEL, LEVEL, LogisticMap
from sgi.stats.two_samples import UNLIKELY
from sgi.store.label_consensus import DRAWN
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.engine.calibration_file import CalibrationFile
    from sgi.engine.calibration_parts import LengthBin, Rate, Target, Thresholds

_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)

ErrorRate = Annotated[
    str | None,
    typer.Option(
        "--error-rate",
        help="Also fit thresholds with this guaranteed error rate: fpr=0.05 flags, on average over "
        "calibrations, at most 5 % of the grounded answers to questions like these, one answer per question. "
        "Needs 200 labelled rows of 100 questions, chosen at random.",
    ),
]
Confidence = Annotated[
    float | None,
    options.statistics_option(
        help="Probability that this calibration keeps its target, such as 0.95: fpr=0.05 then needs 59 "
        "questions with a grounded answer. Default: the target is kept on average over calibrations."
    ),
]
Bins = Annotated[
    int,
    options.statistics_option(
        min=1, help="Maximum number of answer-length ranges; each gets its own threshold."
    ),
]
Kind = Annotated[
    Literal["logistic", "isotonic"],
    options.statistics_option(
        "--curve",
        help="Calibration map: a logistic curve with intervals, or isotonic regression, which needs 200 "
        "rows of 100 questions.",
    ),
]
Out = Annotated[
    Path | None,
    options.output_option("-o", "--out", help="File for the calibration. Default: METRIC.calibration.json."),
]


def calibrate(
    run: options.Run,
    metric: options.RunMetric,
    target: ErrorRate = None,
    confidence: Confidence = None,
    define: options.Define = None,
    label: options.Label = None,
    bins: Bins = 4,
    kind: Kind = "logistic",
    out: Out = None,
    cluster: options.RunCluster = None,
    db: options.Database = None,
    percent: options.Percent = True,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit probabilities, and for a target also thresholds, of a metric on labelled rows.

    You need at least 30 labelled rows, 8 of them with each label, of 15 questions. The probability of each
    row of a later run has a 95 % interval, and the run's summary says if its scores differ from those of the
    labelled rows.

    Thresholds are conformal: among grounded answers to questions like those of the run, on average over
    calibrations at most the target share is flagged, in each range of answer length. One calibration can flag
    more; with --confidence 0.95, 95 % of them flag no more. One answer per question is used for that: the
    share of all rows can differ if questions have different numbers of answers. The
    share of ungrounded answers that is flagged is measured on questions that were not used to fit. They need
    at least 200 labelled rows of 100 questions.

    Examples:
      sgi judge calibrate last -m grounding
      sgi judge calibrate nightly -m faithfulness --error-rate fpr=0.1 --curve isotonic -o judge.json
      sgi run answers.jsonl -m grounding --calibration grounding.calibration.json
    """
    from sgi import api
    from sgi.io.write import write_whole

    (metric,) = stored_metrics([metric], define)
    with open_runs(db, run) as (_, (record,)):
        how: dict[str, Any] = {
            "confidence": confidence,
            "label": label,
            "bins": bins,
            "kind": kind,
            "define": define,
        }
        result = api.calibrate(record.id, metric, target, **how, cluster=cluster, db=db)
    path = out or Path(f"{result.metric.partition('(')[0]}.calibration.json")
    notes = _replacement_notes(path, result)
    write_whole(path, result.to_json().encode())
    if as_json:
        print_json(result.model_dump(mode="json") | {"file": str(path)})
    else:
        print_lines([f"{one_line(record.label)}: {_head(result)}", ""])
        print_tables(list(_tables(result, percent=percent)))
    if not quiet:
        notes = (*_notes(result, bins), *notes, f"Calibration {result.digest} written to {path}.")
        print_notes(notes, longest=1000)


def _replacement_notes(path: Path, calibration: CalibrationFile) -> tuple[str, ...]:
    """Say which calibration the new one replaces. Call this before writing."""
    from sgi.engine.calibration_file import read_calibration

    if not path.is_file():
        return ()
    try:
        old = read_calibration(path)
    except UsageError:
        return (f"{path} was replaced; it was not a calibration.",)
    if old.digest == calibration.digest:
        return ()
    target = f" for fpr={old.thresholds.target.value:g}" if old.thresholds is not None else ""
    facts = f"{old.digest} of {old.metric}{target}, fitted on run {old.run}"
    return (f"It replaced another calibration in {path}: {facts}, label {old.label!r}.",)


def _head(calibration: CalibrationFile) -> str:
    counts = (
        f"{calibration.positives:,} grounded, {calibration.negatives:,} not, "
        f"{pluralize(calibration.clusters, 'cluster')} by {calibration.cluster}"
    )
    flagged = ""
    if calibration.thresholds is not None:
        target = calibration.thresholds.target
        flagged = f", at most {_target(calibration.thresholds)} flagged {_when(target)}"
    return (
        f"{one_line(calibration.metric)}, {pluralize(calibration.rows, 'labelled row')} ({counts}){flagged}"
    )


def _when(target: Target) -> str:
    if target.confidence is None:
        return "on average over calibrations"
    return f"with {100 * target.confidence:.4g} % confidence"


def _target(thresholds: Thresholds) -> str:
    return f"{100 * thresholds.target.value:g} % of the grounded"


def _tables(calibration: CalibrationFile, *, percent: bool) -> Iterator[Table]:
    if calibration.thresholds is not None:
        yield _thresholds(calibration, calibration.thresholds, percent=percent)
    yield _ranking(calibration)
    yield _examples(calibration, percent=percent)
    yield _probabilities(calibration)


def _ranking(calibration: CalibrationFile) -> Table:
    """Return the AUROC of the metric beside that of content-word precision."""
    found, words = calibration.ranking, calibration.words
    rows = [
        (
            one_line(calibration.metric),
            number_text(found.auroc),
            span(found.interval),
            f"{calibration.rows:,}",
        )
    ]
    if words is not None:
        rows += [
            ("content-word precision", number_text(words.auroc), "", f"{words.rows:,}"),
            ("difference", f"{words.difference:+.4f}", span(words.interval), f"{words.rows:,}"),
        ]
    return Table(("ranks grounded above ungrounded", "AUROC", "95 % interval", "rows"), rows)


def _examples(calibration: CalibrationFile, *, percent: bool) -> Table:
    """Return the probabilities of the scores at five quantiles of the calibration rows."""
    fitted = calibration.fitted()
    scores = np.quantile(fitted.reference.scores, _QUANTILES)
    inputs = map_inputs(scores, higher_is_better=calibration.higher_is_better, log_odds=calibration.log_odds)
    limits: list[Interval | None] = [None] * len(scores)
    if isinstance(calibration.map, LogisticMap):
        limits = [
            Interval(*ends, LEVEL, "delta") for ends in zip(*calibration.map.interval(inputs), strict=True)
        ]
    probabilities = calibration.map.probability(inputs).tolist()
    rows = [
        (f"{share:.0%}", number_text(score), format_scaled(probability, percent), span(interval, percent))
        for share, score, probability, interval in zip(
            _QUANTILES, scores.tolist(), probabilities, limits, strict=True
        )
    ]
    return Table(("rows at or below", "score", "probability", "95 % interval"), rows)


def _thresholds(calibration: CalibrationFile, thresholds: Thresholds, *, percent: bool) -> Table:
    interval = "95 % interval"
    flags = "flags below" if calibration.higher_is_better else "flags above"
    of = "questions"
    columns = (flags, "grounded flagged", interval, of, "ungrounded flagged", interval, of)
    rows = []
    for length_bin in thresholds.bins:
        rates = (*_rate(length_bin.false_positives, percent), *_rate(length_bin.recall, percent))
        rows.append((_range(length_bin), number_text(length_bin.threshold), *rates))
    if len(thresholds.bins) > 1:
        rates = (*_rate(thresholds.false_positives, percent), *_rate(thresholds.recall, percent))
        rows.append(("all", "", *rates))
    return Table(("answer length (characters)", *columns), rows)


def _rate(rate: Rate, percent: bool) -> tuple[str, str, str]:
    return format_scaled(rate.value, percent), span(rate.interval, percent), f"{rate.questions:,}"


def _range(length_bin: LengthBin) -> str:
    if length_bin.below is None:
        return f"{length_bin.at_least:,} or more" if length_bin.at_least else "any"
    return f"{length_bin.at_least:,} to {length_bin.below - 1:,}"


def _probabilities(calibration: CalibrationFile) -> Table:
    qualities = {calibration.map.to_dict()["map"]: calibration.quality, "base rate": calibration.base_rate}
    rows = [
        (name, *map(number_text, (quality.brier, quality.ece_width, quality.ece_mass, quality.ece_chance)))
        for name, quality in qualities.items()
    ]
    columns = (
        "probabilities (cross-validated)",
        *("Brier", "ECE, equal width", "ECE, equal mass", "of which by chance"),
    )
    return Table(columns, rows)


def _area(calibration: CalibrationFile) -> str:
    area, interval = calibration.ranking.auroc, calibration.ranking.interval
    if interval is None:
        return f"AUROC {area:.3f}, too few questions for an interval"
    return f"AUROC {area:.3f}, 95 % interval {interval.low:.3f} to {interval.high:.3f}; 0.5 is chance"


def _notes(calibration: CalibrationFile, bins: int) -> Iterator[str]:
    """Yield notes on the limits of the calibration."""
    if calibration.left_out:
        rows = pluralize(calibration.left_out, "labelled row")
        yield f"Left out: {rows} without a value of the metric."
    if not calibration.ranking.shown:
        yield (
            f"{calibration.metric} is not shown to rank grounded answers above ungrounded ones: "
            f"{_area(calibration)}."
        )
    words = calibration.words
    if words is not None and (words.interval is None or words.interval.low <= 0):
        yield f"{calibration.metric} is not shown to rank better than content-word precision on these rows."
    if calibration.thresholds is not None:
        yield from _threshold_notes(calibration.thresholds, bins)
        if calibration.clusters < calibration.rows:
            yield (
                "This bounds questions, not rows: the share of all rows can be larger if questions with more "
                "answers have lower scores."
            )
    if calibration.sampling is not None and calibration.sampling.p <= UNLIKELY:
        test = calibration.sampling
        yield (
            "The labelled rows are not a random sample: the other rows have other scores "
            f"(Kolmogorov-Smirnov distance {test.distance:.2f}, p = {test.p:.3f}). Probabilities far "
            "from their scores are extrapolated: label random rows."
        )
    if isinstance(calibration.map, LogisticMap) and not calibration.map.fits:
        yield (
            f"The logistic curve may not fit these labels (p = {calibration.map.fit_p:.3f}; a right curve "
            f"has p ≤ {FIT_LEVEL:g} in {FIT_LEVEL:.0%} of cases). The intervals "
            "assume only that a higher score is never less probable; the probabilities may be wrong within "
            "them. With 200 labelled rows of 100 questions, try --curve isotonic."
        )
    if calibration.quality.brier >= calibration.base_rate.brier:
        yield "The probabilities are no better than the constant base rate: do not rely on them."
    if calibration.label.startswith(DRAWN):
        yield (
            "The labelled rows were drawn by their scores, so the map needs no weights. AUROC and errors are "
            "those of these rows, of which more are uncertain than of all rows; they are not weighted."
        )
        return
    share = calibration.positives / calibration.rows
    yield f"The probabilities are valid only for data like this, with {share:.1%} grounded answers."


def _threshold_notes(thresholds: Thresholds, bins: int) -> Iterator[str]:
    if len(thresholds.bins) < bins:
        yield (
            f"There are questions with a grounded answer for only {len(thresholds.bins)} of "
            f"{bins} length ranges."
        )
    for length_bin in thresholds.bins:
        if length_bin.threshold is None:
            few = f"{pluralize(length_bin.questions, 'question')} with a grounded answer: too few"
            yield f"{_range(length_bin)} characters: {few} for {_target(thresholds)}, so nothing is flagged."
    recall, target = thresholds.recall, thresholds.target
    if recall.interval is not None and recall.interval.low <= target.value:
        yield (
            "The threshold may be useless: perhaps it does not flag a larger share of the ungrounded answers "
            "than of the grounded ones (see the interval)."
        )
    promise = f"at most {100 * target.value:g} % of {target.among}, are flagged"
    if target.confidence is None:
        yield f"On average over calibrations, {promise}. A single one can flag more: see --confidence."
    else:
        confidence = f"{100 * target.confidence:.4g} % confidence"
        yield f"With {confidence}, {promise}; this holds for every length range at the same time."
