"""``sgi show``: one run, whole, by groups of its rows, or one of its rows."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli.options import DatabaseOption, JsonOption, PercentOption, RunArgument, RunClusterOption

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgi.engine.summary import MetricSummary
    from sgi.kernel.protocols import Usage
    from sgi.report.views.groups import GroupTable
    from sgi.report.views.headline import Headline
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.run_rows import Reason


_LONGEST = 400

_CALIBRATION = "calibration"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STEERING = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def show(
    run: RunArgument,
    by: Annotated[
        str | None,
        typer.Option(help="A column of the data: the means of each of its values. Also: label."),
    ] = None,
    spec: Annotated[
        bool, typer.Option("--spec", help="Print only how it was asked for, as TOML that `sgi run` reads.")
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option(help="With --by: order the groups by the mean of this metric, the worst first."),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(help="The id of a row: its texts, and what each of its scores was made of."),
    ] = None,
    worst: Annotated[
        int | None, typer.Option(min=1, max=1000, help="The N rows with the worst values of a metric.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option("-m", "--metric", help="The metric of --worst. Default: the run's first with values."),
    ] = None,
    cluster: RunClusterOption = None,
    db: DatabaseOption = None,
    percent: PercentOption = True,
    as_json: JsonOption = False,
) -> None:
    """Show a run: its numbers, its settings, and how to resume it.

    The means of a run that is not finished are over the rows that are scored so far. With --sample, all that
    is kept of a row is printed, also the reply of the judge behind a failure.

    Examples:

      sgi show last

      sgi show nightly --by question_type

      sgi show last --by method --sort faithfulness

      sgi show last --worst 10 -m faithfulness

      sgi show last --sample q17

      sgi show last --spec > again.toml
    """
    from sgi.cli.console import print_json, print_lines, readers_may_leave
    from sgi.kernel.errors import UsageError
    from sgi.report.views.groups import group_table, sorted_groups
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    views = {
        "--spec": spec,
        "--by": by is not None,
        "--sample": sample is not None,
        "--worst": worst is not None,
    }
    given = [name for name, there in views.items() if there]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} contradict each other.", hint="Give one of them.")
    for name, needed, value in (("--sort", "--by", sort), ("-m", "--worst", metric)):
        if value is not None and given != [needed]:
            raise UsageError(f"{name} goes with {needed}.", hint=f"Add {needed}.")
    with open_database(db, create=False) as database, readers_may_leave():
        record = find_run(database, run).clustered(cluster)
        if spec and as_json:
            print_json(record.spec)
        elif spec:
            print_lines(toml_lines({key: value for key, value in record.spec.items() if key != "name"}))
        elif sample is not None:
            _show_sample(database, record, sample, as_json=as_json)
        elif by is not None:
            found = sorted_groups(group_table(database, record, by), sort)
            _show_groups(record, found, percent=percent, as_json=as_json)
        elif worst is not None:
            _show_worst(database, record, metric, worst, percent=percent, as_json=as_json)
        else:
            _show_all(database, record, percent=percent, as_json=as_json)


def _show_all(database: Database, record: RunRecord, *, percent: bool, as_json: bool) -> None:
    from sgi.cli.console import (
        class_lines,
        means_table,
        print_json,
        print_lines,
        print_tables,
        ranking_tables,
    )
    from sgi.engine.summary import reasons_without_interval
    from sgi.report.formatting import notes
    from sgi.report.views.headline import headline
    from sgi.store.run_queries import run_usage
    from sgi.store.run_rows import reasons

    told = headline(database, record)
    found, usage = reasons(database, record), run_usage(database, record.id)
    if as_json:
        told_or_made = {"summary": _summary(record, told)}
        spent = {"usage": {judge: asdict(used) for judge, used in usage.items()}}
        whys = {"reasons": [reason._asdict() for reason in found]}
        print_json(_facts(record) | told_or_made | whys | spent | {"notes": [*notes(told)]})
        return
    print_lines([*_head(record), ""])
    means = means_table(told.metrics, percent=percent, rows=record.rows)
    print_tables([means, *ranking_tables(told)])
    print_lines([*class_lines(told.metrics), *reasons_without_interval(told.metrics), record.signature])
    print_lines(["", *_notes(told), *_gaps(found), *_judges(usage), *_origin(record)])


def _show_sample(database: Database, record: RunRecord, sample: str, *, as_json: bool) -> None:
    from sgi.cli.console import print_json, print_lines
    from sgi.cli.row_details import sample_facts, sample_lines
    from sgi.store.evaluation_records import sample_story

    found = sample_story(database, record, sample)
    if as_json:
        print_json(sample_facts(found))
    else:
        print_lines(sample_lines(found))


def _notes(told: Headline) -> Iterator[str]:
    """What a reader of the numbers has to know."""
    from sgi.cli.console import one_line
    from sgi.report.formatting import notes

    found = [one_line(note, longest=_LONGEST) for note in notes(replace(told, partial=""))]
    yield from [*found, ""] if found else ()


def _show_worst(
    database: Database, record: RunRecord, metric: str | None, most: int, *, percent: bool, as_json: bool
) -> None:
    from sgi.cli.console import print_json, print_lines, print_tables
    from sgi.cli.tables import worst_facts, worst_table
    from sgi.kernel.errors import UsageError
    from sgi.report.views.columns import run_columns
    from sgi.report.views.lowest import worst_ids, worst_rows

    columns = run_columns(database, record)
    chosen = worst_ids(columns, most=most, metric=metric)[:1]
    found = next(iter(worst_rows(database, record, chosen)), None)
    if found is None:
        what = "no metric" if metric is None else f"no row with a value of {metric}"
        raise UsageError(f"{record.label} has {what} to sort by.", hint="See why: sgi show RUN.")
    if as_json:
        print_json(_facts(record) | worst_facts(found))
        return
    column = next(column for column in columns.metrics if column.metric == found.metric)
    print_tables([worst_table(found, column, percent=percent)])
    print_lines([f"All that is kept of a row: sgi show {record.id} --sample ID"])


def _gaps(found: list[Reason]) -> Iterator[str]:
    """Why rows have no value, the most frequent reasons."""
    from sgi.cli.console import one_line

    for reason in found:
        yield f"{reason.rows:,} {reason.status}  {reason.metric}: {one_line(reason.reason)}"
    if found:
        yield ""


def _judges(usage: Mapping[str, Usage]) -> Iterator[str]:
    """What was asked of each judge, and what it took."""
    from sgi.cli.console import one_line
    from sgi.cli.run_output import usage_line

    for judge, used in usage.items():
        yield one_line(judge, longest=_LONGEST)
        yield usage_line(used)
    if usage:
        yield ""


def _show_groups(record: RunRecord, found: GroupTable, *, percent: bool, as_json: bool) -> None:
    from sgi.cli.console import print_json, print_lines, print_tables
    from sgi.cli.tables import groups_tables
    from sgi.engine.summary import without_interval

    if as_json:
        print_json(_facts(record) | {"by": found.by, "groups": [group.to_dict() for group in found.groups]})
        return
    print_lines([*_head(record), ""])
    print_tables(groups_tables(found.by, found.groups, percent=percent))
    lacking = (
        (f"{made.metric} of {group.name}", made.no_interval)
        for group in found.groups
        for made in group.metrics
        if made.mean is not None
    )
    print_lines([*without_interval(lacking), record.signature])


def _summary(record: RunRecord, told: Headline) -> dict[str, Any]:
    """The headline as it was kept; its metrics computed now where it was not, or had other clusters."""
    if record.summary is None:
        return _partial(record, told.metrics)
    if not told.recomputed:
        return {**record.summary}
    metrics = [made.to_dict() for made in told.metrics]
    return {
        **record.summary,
        "metrics": metrics,
        "baselines": [],
        "questions": told.questions,
        "clustering": asdict(told.clustering),
    }


def _partial(record: RunRecord, metrics: tuple[MetricSummary, ...]) -> dict[str, Any]:
    """What is known without a headline; coverage is over all rows of the data."""
    entries = [made.to_dict() | {"rows": record.rows, "coverage": made.ok / record.rows} for made in metrics]
    return {"rows": record.scored, "metrics": entries, "signature": record.signature}


def _facts(record: RunRecord) -> dict[str, Any]:
    from sgi.cli.tables import run_facts

    return {"run": run_facts(record) | {"spec": record.spec, "versions": record.versions}}


def _head(record: RunRecord) -> Iterator[str]:
    from sgi.cli.console import one_line
    from sgi.cli.tables import progress_of, state
    from sgi.report.formatting import moment

    if record.name:
        yield f"name      {one_line(record.name)}"
    yield f"run       {record.id}"
    yield f"data      {one_line(record.dataset_name)}"
    yield f"rows      {progress_of(record)}"
    if record.no_texts:
        yield "texts     not kept: digests stand in their place"
    if record.rejected:
        yield f"rejected  {record.rejected:,} rows that could not be read"
    yield f"state     {state(record, longest=1000)}"
    end = f", finished {moment(record.finished_at)}" if record.finished_at else ""
    yield f"time      begun {moment(record.created_at)}{end}"
    if record.scored < record.rows:
        yield "numbers   of the rows that are scored"
    elif record.summary is None:
        yield "numbers   computed now, from the scores of the rows"


def _origin(record: RunRecord) -> Iterator[str]:
    """What made the run, as it was asked for, and how to resume it."""
    from sgi.cli.console import one_line
    from sgi.engine.stored_spec import resume_options, stored_spec
    from sgi.kernel.errors import StoreError

    yield from toml_lines({name: value for name, value in record.spec.items() if name != _CALIBRATION})
    calibration = record.spec.get(_CALIBRATION)
    if calibration:
        metric, target, fitted_on = (calibration[key] for key in ("metric", "target", "run"))
        told = f"{metric} for {target['rate']}={target['value']}, fitted on run {fitted_on}"
        yield f"calibration of {one_line(told, longest=_LONGEST)}; all of it: sgi show {record.id} --spec"
    yield ""
    yield ", ".join(f"{name} {version}" for name, version in record.versions.items())
    elsewhere = {"imported_from", "service", "rescored_from"}
    if not record.finished and elsewhere.isdisjoint(record.spec):
        with suppress(StoreError):  # settings that are damaged cannot be resumed
            yield f"Resume it: sgi run --resume {record.id}{resume_options(stored_spec(record))}"


def toml_lines(spec: Mapping[str, Any]) -> Iterator[str]:
    r"""A spec as TOML, one line a key; a null, which TOML does not have, is left out, in tables too.

    >>> print(*toml_lines({"data": "a\x1b.csv", "target": {"where": "app:answer", "retries": 2}}), sep="\n")
    data = "a\u001b.csv"
    target = {where = "app:answer", retries = 2}
    """
    return (f"{_key(name)} = {_toml(value)}" for name, value in spec.items() if value is not None)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(toml_lines(value))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """JSON's quoting is TOML's, but for signs that TOML forbids or a terminal obeys."""
    return _STEERING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(text, ensure_ascii=False))
