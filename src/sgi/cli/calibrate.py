"""``sgi calibrate``: thresholds and probabilities of a metric, from the labelled rows of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sgi.cli.options import (
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
    metric: Annotated[str, typer.Option("-m", "--metric", help="A metric of the run.")],
    target: Annotated[
        str,
        typer.Option(
            help="What the threshold promises: fpr=0.05 flags at most 5 % of the grounded answers to"
            " questions like these, one answer a question."
        ),
    ],
    label: Annotated[
        str,
        typer.Option(help="The column of the data that says whether an answer is grounded: yes or no."),
    ] = "label",
    bins: Annotated[int, typer.Option(min=1, help="Ranges of answer length at most.")] = 4,
    kind: Annotated[
        Literal["platt", "isotonic"],
        typer.Option(
            "--map",
            help="Probabilities by a logistic curve, or by a rising line, which wants more rows.",
        ),
    ] = "platt",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The file; METRIC.calibration.json by default.")
    ] = None,
    cluster: RunClusterOption = None,
    db: DatabaseOption = None,
    percent: PercentOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find the thresholds below which a metric flags answers, and a probability for each score.

    Thresholds are conformal. What they promise is for grounded answers to questions like those of the run,
    one answer a question: on average no more than the target are flagged, in each range of answer length. So
    they are made of one answer to each question. How many ungrounded answers they find is measured on
    questions that the thresholds were made without. At least 200 labelled rows of 100 questions are needed.

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

    wanted = Target.of(target)
    with open_database(db, create=False) as database:
        record = find_run(database, run).clustered(cluster)
        made = fit.calibrate(database, record, metric, wanted, label=label, bins=bins, kind=kind)
    place = out or Path(f"{made.metric.partition('(')[0]}.calibration.json")
    replaced = _replaced(place, made)
    write_whole(place, made.to_json().encode())
    with readers_may_leave():
        if as_json:
            print_json(made.model_dump(mode="json") | {"file": str(place)})
        else:
            print_lines([f"{one_line(record.label)}: {_head(made)}", ""])
            print_tables([_thresholds(made, percent=percent), _probabilities(made)])
    kept = (*replaced, f"The calibration {made.digest} is in {place}.")
    for line in () if quiet else (*_notes(made, asked=bins), *kept):
        talk(one_line(line, longest=1000))


def _replaced(place: Path, made: CalibrationFile) -> tuple[str, ...]:
    """What stands at this place and is about to go, unless it says the same; read before it is written."""
    from sgi.engine.calibration_file import read_calibration
    from sgi.kernel.errors import UsageError

    if not place.is_file():
        return ()
    try:
        old = read_calibration(place)
    except UsageError:
        return (f"{place} was a file that is no calibration; it is replaced.",)
    if old.digest == made.digest:
        return ()
    told = f"{old.digest} of {old.metric} for fpr={old.target.value:g}, fitted on run {old.run}"
    return (f"It replaced another calibration in {place}: {told}, label {old.label!r}.",)


def _head(made: CalibrationFile) -> str:
    from sgi.cli.console import one_line

    told = (
        f"{made.positives:,} grounded, {made.negatives:,} not, {made.clusters:,} clusters by {made.cluster}"
    )
    return f"{one_line(made.metric)}, {made.rows:,} labelled rows ({told}), at most {_target(made)} flagged"


def _target(made: CalibrationFile) -> str:
    return f"{100 * made.target.value:g} % of the grounded"


def _thresholds(made: CalibrationFile, *, percent: bool) -> Table:
    from sgi.cli.console import add_row, new_table, scaled

    interval = "95 % interval"
    flags = "flags below" if made.higher_is_better else "flags above"
    of = "questions"
    columns = (flags, "flagged of grounded", interval, of, "found of ungrounded", interval, of)
    table = new_table("characters of the answer", *columns)
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

    table = new_table("probabilities, out of fold", "Brier", "ECE, equal width", "ECE, equal mass")
    for name, found in {made.map.to_dict()["map"]: made.quality, "base rate": made.base_rate}.items():
        numbers = (found.brier, found.ece_width, found.ece_mass)
        add_row(table, name, *(scaled(number, percent=False) for number in numbers))
    return table


def _area(made: CalibrationFile) -> str:
    area, interval = made.ranking.auroc, made.ranking.interval
    if interval is None:
        return f"AUROC {area:.3f}, of too few questions for an interval"
    return f"AUROC {area:.3f}, 95 % interval {interval.low:.3f} to {interval.high:.3f}; 0.5 is chance"


def _notes(made: CalibrationFile, *, asked: int) -> Iterator[str]:
    """What a reader of the numbers should know beside them."""
    if made.left_out:
        yield f"{made.left_out:,} labelled rows without a value of the metric take no part."
    if len(made.bins) < asked:
        yield f"Questions with a grounded answer are enough for {len(made.bins)} of {asked} ranges of length."
    for found in made.bins:
        if found.threshold is None:
            told = (
                f"{found.questions:,} questions with a grounded answer are too few to promise {_target(made)}"
            )
            yield f"{_range(found)} characters: {told}, so nothing is flagged."
    if not made.ranking.shown:
        yield f"{made.metric} is not shown to rank grounded answers over others: {_area(made)}."
    if made.recall.interval is not None and made.recall.interval.low <= made.target.value:
        yield "It may find no greater share of the ungrounded answers than it flags of the grounded ones."
    if made.quality.brier >= made.base_rate.brier:
        yield "The probabilities are no better than the base rate as a constant: do not rely on them."
    yield f"At most {100 * made.target.value:g} % of {made.target.among}, are flagged on average."
    share = made.positives / made.rows
    yield f"Probabilities hold for data like this, of which {share:.1%} is grounded; elsewhere they are off."
