"""``sgi calibrate``: thresholds and probabilities of a metric, from the labelled rows of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sgi.cli import options
from sgi.cli.console import (
    one_line,
    print_json,
    print_lines,
    print_tables,
    readers_may_leave,
    scaled,
    span,
    talk,
)
from sgi.kernel.errors import UsageError
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.engine.calibration_file import CalibrationFile, LengthBin, Rate
    from sgi.reporting.table import Table


def calibrate(
    run: options.Run,
    metric: Annotated[str, typer.Option("-m", "--metric", help="Metric of the run.")],
    target: Annotated[
        str,
        typer.Option(
            help="Guaranteed error rate: fpr=0.05 flags at most 5 % of the grounded answers to questions "
            "like these, one answer per question."
        ),
    ],
    label: Annotated[
        str,
        typer.Option(help="Column of the data that says whether an answer is grounded: yes or no."),
    ] = "label",
    bins: Annotated[
        int,
        options.statistics_option(min=1, help="Largest number of ranges of answer length."),
    ] = 4,
    kind: Annotated[
        Literal["platt", "isotonic"],
        options.statistics_option(
            "--map", help="Calibration map: logistic (platt), or monotone (isotonic), which needs more rows."
        ),
    ] = "platt",
    out: Annotated[
        Path | None,
        options.output_option("-o", "--out", help="File. Default: METRIC.calibration.json."),
    ] = None,
    cluster: options.RunCluster = None,
    db: options.Database = None,
    percent: options.Percent = True,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit thresholds and probabilities of a metric on labelled rows.

    Thresholds are conformal: among grounded answers to questions like those of the run, on average at most
    the target share is flagged, in each range of answer length. One answer per question is used for that. The
    share of ungrounded answers that is flagged is measured on questions that were not used to fit. You need
    at least 200 labelled rows of 100 questions.

    Examples:
      sgi calibrate last -m sgi --target fpr=0.05
      sgi calibrate nightly -m faithfulness --target fpr=0.1 --label human --map isotonic -o judge.json
      sgi run answers.jsonl -m sgi --calibration sgi.calibration.json
    """
    from sgi.analysis import calibrate as fit
    from sgi.engine.calibration_file import Target
    from sgi.io.write import write_whole
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    goal = Target.of(target)
    with open_database(db, create=False) as database:
        record = find_run(database, run).with_clusters(cluster)
        made = fit.calibrate(database, record, metric, goal, label=label, bins=bins, kind=kind)
    path = out or Path(f"{made.metric.partition('(')[0]}.calibration.json")
    notes = _replacement_notes(path, made)
    write_whole(path, made.to_json().encode())
    with readers_may_leave():
        if as_json:
            print_json(made.model_dump(mode="json") | {"file": str(path)})
        else:
            print_lines([f"{one_line(record.label)}: {_head(made)}", ""])
            print_tables([_thresholds(made, percent=percent), _probabilities(made)])
    notes = (*_notes(made, bins), *notes, f"Calibration {made.digest} written to {path}.")
    for line in () if quiet else notes:
        talk(one_line(line, longest=1000))


def _replacement_notes(path: Path, calibration: CalibrationFile) -> tuple[str, ...]:
    """Say which file is replaced, unless it holds the same calibration. Called before writing."""
    from sgi.engine.calibration_file import read_calibration

    if not path.is_file():
        return ()
    try:
        old = read_calibration(path)
    except UsageError:
        return (f"{path} was not a calibration; it is replaced.",)
    if old.digest == calibration.digest:
        return ()
    facts = f"{old.digest} of {old.metric} for fpr={old.target.value:g}, fitted on run {old.run}"
    return (f"It replaced another calibration in {path}: {facts}, label {old.label!r}.",)


def _head(calibration: CalibrationFile) -> str:
    counts = (
        f"{calibration.positives:,} grounded, {calibration.negatives:,} not, "
        f"{calibration.clusters:,} clusters by {calibration.cluster}"
    )
    return (
        f"{one_line(calibration.metric)}, {calibration.rows:,} labelled rows ({counts}), at most "
        f"{_target(calibration)} flagged"
    )


def _target(calibration: CalibrationFile) -> str:
    return f"{100 * calibration.target.value:g} % of the grounded"


def _thresholds(calibration: CalibrationFile, *, percent: bool) -> Table:
    interval = "95 % interval"
    flags = "flags below" if calibration.higher_is_better else "flags above"
    of = "questions"
    columns = (flags, "grounded flagged", interval, of, "ungrounded flagged", interval, of)
    rows = []
    for found in calibration.bins:
        rates = (*_rate(found.false_positives, percent), *_rate(found.recall, percent))
        rows.append((_range(found), scaled(found.threshold, percent=False), *rates))
    if len(calibration.bins) > 1:
        rates = (*_rate(calibration.false_positives, percent), *_rate(calibration.recall, percent))
        rows.append(("all", "", *rates))
    return Table(("answer length (characters)", *columns), rows)


def _rate(rate: Rate, percent: bool) -> tuple[str, str, str]:
    return scaled(rate.value, percent=percent), span(rate.interval, percent=percent), f"{rate.questions:,}"


def _range(length_bin: LengthBin) -> str:
    if length_bin.below is None:
        return f"{length_bin.at_least:,} or more" if length_bin.at_least else "any"
    return f"{length_bin.at_least:,} to {length_bin.below - 1:,}"


def _probabilities(calibration: CalibrationFile) -> Table:
    rows = []
    for name, found in {
        calibration.map.to_dict()["map"]: calibration.quality,
        "base rate": calibration.base_rate,
    }.items():
        numbers = (found.brier, found.ece_width, found.ece_mass)
        rows.append((name, *(scaled(number, percent=False) for number in numbers)))
    columns = ("probabilities (cross-validated)", "Brier", "ECE, equal width", "ECE, equal mass")
    return Table(columns, rows)


def _area(calibration: CalibrationFile) -> str:
    area, interval = calibration.ranking.auroc, calibration.ranking.interval
    if interval is None:
        return f"AUROC {area:.3f}, too few questions for an interval"
    return f"AUROC {area:.3f}, 95 % interval {interval.low:.3f} to {interval.high:.3f}; 0.5 is chance"


def _notes(calibration: CalibrationFile, bins: int) -> Iterator[str]:
    """Limits of the calibration."""
    if calibration.left_out:
        yield f"{calibration.left_out:,} labelled rows without a value of the metric were left out."
    if len(calibration.bins) < bins:
        yield (
            f"There are questions with a grounded answer for only {len(calibration.bins)} of "
            f"{bins} length ranges."
        )
    for found in calibration.bins:
        if found.threshold is None:
            few = (
                f"{found.questions:,} questions with a grounded answer are too few for {_target(calibration)}"
            )
            yield f"{_range(found)} characters: {few}, so nothing is flagged."
    if not calibration.ranking.shown:
        yield (
            f"{calibration.metric} may not rank grounded answers above ungrounded ones: {_area(calibration)}."
        )
    if (
        calibration.recall.interval is not None
        and calibration.recall.interval.low <= calibration.target.value
    ):
        yield "It may flag no larger share of the ungrounded answers than of the grounded ones."
    if calibration.quality.brier >= calibration.base_rate.brier:
        yield "The probabilities are no better than the constant base rate: do not rely on them."
    yield (
        f"On average, at most {100 * calibration.target.value:g} % of {calibration.target.among}, "
        "are flagged."
    )
    share = calibration.positives / calibration.rows
    yield f"The probabilities are valid for data like this, with {share:.1%} grounded answers; not elsewhere."
