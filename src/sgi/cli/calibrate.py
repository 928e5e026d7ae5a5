"""``sgi calibrate``: thresholds and probabilities of a metric, from the labelled rows of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sgi.cli.options import (
    OUTPUT,
    STATISTICS,
    DatabaseOption,
    JsonOption,
    PercentOption,
    QuietOption,
    RunArgument,
    RunClusterOption,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from sgi.engine.calibration_file import CalibrationFile, LengthBin, Rate


def calibrate(
    run: RunArgument,
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
        typer.Option(min=1, help="Largest number of ranges of answer length.", rich_help_panel=STATISTICS),
    ] = 4,
    kind: Annotated[
        Literal["platt", "isotonic"],
        typer.Option(
            "--map",
            help="Calibration map: logistic (platt), or monotone (isotonic), which needs more rows.",
            rich_help_panel=STATISTICS,
        ),
    ] = "platt",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="File. Default: METRIC.calibration.json.", rich_help_panel=OUTPUT),
    ] = None,
    cluster: RunClusterOption = None,
    db: DatabaseOption = None,
    percent: PercentOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
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
    from sgi.cli.console import one_line, print_json, print_lines, print_tables, readers_may_leave, talk
    from sgi.engine.calibration_file import Target
    from sgi.io.write import write_whole
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    goal = Target.of(target)
    with open_database(db, create=False) as database:
        record = find_run(database, run).clustered(cluster)
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


def _replacement_notes(path: Path, made: CalibrationFile) -> tuple[str, ...]:
    """Say which file is replaced, unless it holds the same calibration. Called before writing."""
    from sgi.engine.calibration_file import read_calibration
    from sgi.kernel.errors import UsageError

    if not path.is_file():
        return ()
    try:
        old = read_calibration(path)
    except UsageError:
        return (f"{path} was not a calibration; it is replaced.",)
    if old.digest == made.digest:
        return ()
    facts = f"{old.digest} of {old.metric} for fpr={old.target.value:g}, fitted on run {old.run}"
    return (f"It replaced another calibration in {path}: {facts}, label {old.label!r}.",)


def _head(made: CalibrationFile) -> str:
    from sgi.cli.console import one_line

    counts = (
        f"{made.positives:,} grounded, {made.negatives:,} not, {made.clusters:,} clusters by {made.cluster}"
    )
    return f"{one_line(made.metric)}, {made.rows:,} labelled rows ({counts}), at most {_target(made)} flagged"


def _target(made: CalibrationFile) -> str:
    return f"{100 * made.target.value:g} % of the grounded"


def _thresholds(made: CalibrationFile, *, percent: bool) -> Table:
    from sgi.cli.console import add_row, new_table, scaled

    interval = "95 % interval"
    flags = "flags below" if made.higher_is_better else "flags above"
    of = "questions"
    columns = (flags, "grounded flagged", interval, of, "ungrounded flagged", interval, of)
    table = new_table("answer length (characters)", *columns)
    for found in made.bins:
        rates = (*_rate(found.false_positives, percent), *_rate(found.recall, percent))
        add_row(table, _range(found), scaled(found.threshold, percent=False), *rates)
    if len(made.bins) > 1:
        rates = (*_rate(made.false_positives, percent), *_rate(made.recall, percent))
        add_row(table, "all", "", *rates)
    return table


def _rate(made: Rate, percent: bool) -> tuple[str, str, str]:
    from sgi.cli.console import scaled, span

    return scaled(made.value, percent=percent), span(made.interval, percent=percent), f"{made.questions:,}"


def _range(found: LengthBin) -> str:
    if found.below is None:
        return f"{found.at_least:,} or more" if found.at_least else "any"
    return f"{found.at_least:,} to {found.below - 1:,}"


def _probabilities(made: CalibrationFile) -> Table:
    from sgi.cli.console import add_row, new_table, scaled

    table = new_table("probabilities (cross-validated)", "Brier", "ECE, equal width", "ECE, equal mass")
    for name, found in {made.map.to_dict()["map"]: made.quality, "base rate": made.base_rate}.items():
        numbers = (found.brier, found.ece_width, found.ece_mass)
        add_row(table, name, *(scaled(number, percent=False) for number in numbers))
    return table


def _area(made: CalibrationFile) -> str:
    area, interval = made.ranking.auroc, made.ranking.interval
    if interval is None:
        return f"AUROC {area:.3f}, too few questions for an interval"
    return f"AUROC {area:.3f}, 95 % interval {interval.low:.3f} to {interval.high:.3f}; 0.5 is chance"


def _notes(made: CalibrationFile, bins: int) -> Iterator[str]:
    """Limits of the calibration."""
    if made.left_out:
        yield f"{made.left_out:,} labelled rows without a value of the metric were left out."
    if len(made.bins) < bins:
        yield f"There are questions with a grounded answer for only {len(made.bins)} of {bins} length ranges."
    for found in made.bins:
        if found.threshold is None:
            few = f"{found.questions:,} questions with a grounded answer are too few for {_target(made)}"
            yield f"{_range(found)} characters: {few}, so nothing is flagged."
    if not made.ranking.shown:
        yield f"{made.metric} may not rank grounded answers above ungrounded ones: {_area(made)}."
    if made.recall.interval is not None and made.recall.interval.low <= made.target.value:
        yield "It may flag no larger share of the ungrounded answers than of the grounded ones."
    if made.quality.brier >= made.base_rate.brier:
        yield "The probabilities are no better than the constant base rate: do not rely on them."
    yield f"On average, at most {100 * made.target.value:g} % of {made.target.among}, are flagged."
    share = made.positives / made.rows
    yield f"The probabilities are valid for data like this, with {share:.1%} grounded answers; not elsewhere."
