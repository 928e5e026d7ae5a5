"""``sgi plot``: one figure of a run as a file, for papers and slides."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from sgi.cli.options import (
    AllowDifferentOption,
    DatabaseOption,
    QuietOption,
    RunArgument,
    RunClusterOption,
    complete_run,
)
from sgi.kernel.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.report.charts import Chart
    from sgi.report.views.columns import RunColumns
    from sgi.report.views.groups import GroupTable
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_POINTS = 10_000


class Kind(StrEnum):
    """What can be drawn of a run."""

    DISTRIBUTION = "distribution"
    PLANE = "plane"
    GROUPS = "groups"
    SCATTER = "scatter"
    CORRELATION = "correlation"
    ROC = "roc"
    RELIABILITY = "reliability"
    COMPARISON = "comparison"


class _Asked(NamedTuple):
    """What is drawn, and of what."""

    database: Database
    record: RunRecord
    metric: str | None
    against: str | None
    by: str | None
    new: RunRecord | None
    allow_different: bool


def plot(
    run: RunArgument,
    kind: Annotated[Kind, typer.Option("-k", "--kind", help="What to draw.", show_default=False)],
    out: Annotated[Path, typer.Option("-o", "--out", help="A .png, .svg or .pdf file.", show_default=False)],
    metric: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--metric",
            help="Metric of distribution, groups and scatter (vertical). Default: the first that fits.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Second metric of scatter (horizontal). Default: the first that compares words."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="The column of groups; label, or the data's first by default.")
    ] = None,
    with_: Annotated[
        str | None,
        typer.Option("--with", help="Of comparison: the newer run.", autocompletion=complete_run),
    ] = None,
    width: Annotated[int | None, typer.Option(min=50, max=5000, help="Of the axes, in points.")] = None,
    height: Annotated[int | None, typer.Option(min=50, max=5000, help="Of the axes, in points.")] = None,
    scale: Annotated[float, typer.Option(min=0.1, max=10, help="Pixels of a PNG for each point.")] = 2.0,
    allow_different: AllowDifferentOption = False,
    cluster: RunClusterOption = None,
    db: DatabaseOption = None,
    quiet: QuietOption = False,
) -> None:
    """Draw one figure of a run into a file. PNG and SVG of equal runs are equal files.

    distribution: the values of a metric. plane: every row by θ(r,c) and θ(r,q). groups: the mean of a metric
    in each group. scatter: a metric of meaning against a metric of wording, row by row; rings mark rows that
    the two rank very differently. correlation: rank correlations of the metrics. roc, reliability: metrics
    against the labels. comparison: the differences to another run.

    Examples:

      sgi plot last --kind plane -o plane.pdf

      sgi plot nightly --kind groups -m sgi --by method -o groups.svg --width 300

      sgi plot monday --kind comparison --with friday -o change.png --scale 4
    """
    from sgi.cli.console import talk
    from sgi.io.write import check_place
    from sgi.report.charts import check_figure, save_figure
    from sgi.report.descriptions import short
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    _check_options(kind, metric=metric, against=against, by=by, with_=with_)
    check_figure(out)
    check_place(out)  # what cannot be written is told before the work
    with open_database(db, create=False) as database:
        record = find_run(database, run).clustered(cluster)
        other = None if with_ is None else find_run(database, with_).clustered(cluster)
        chart = _DRAWN[kind](_Asked(database, record, metric, against, by, other, allow_different))
    sides = {"width": width, "height": height}
    chart |= {name: size for name, size in sides.items() if size is not None}
    save_figure(chart, out, scale=scale)
    if not quiet:
        talk(f"{out} shows {kind.value} of {short(record.label)}. {chart['description']}")


def _check_options(kind: Kind, **given: str | None) -> None:
    """See that what is said can matter for this figure."""
    meant = {
        "metric": (Kind.DISTRIBUTION, Kind.GROUPS, Kind.SCATTER),
        "against": (Kind.SCATTER,),
        "by": (Kind.GROUPS,),
        "with_": (Kind.COMPARISON,),
    }
    for name, value in given.items():
        if value is not None and kind not in meant[name]:
            kinds = ", ".join(found.value for found in meant[name])
            raise UsageError(
                f"--{name.strip('_')} does not apply to {kind.value}.", hint=f"It applies to {kinds}."
            )
    if kind is Kind.COMPARISON and given["with_"] is None:
        raise UsageError("A comparison needs a second run.", hint="Name the newer one: --with last.")


def _distribution(asked: _Asked) -> Chart:
    from sgi.report.figures import distribution_figure
    from sgi.report.views.distribution import distributions

    columns = _columns(asked)
    parts = {part.metric: part for part in distributions(columns)}
    if not parts:
        raise _impossible(asked, columns, Kind.DISTRIBUTION, "no metric has a value")
    return distribution_figure(parts[_metric(asked, list(parts))])


def _plane(asked: _Asked) -> Chart:
    from sgi.report.figures import plane_figure
    from sgi.report.views.plane import plane

    found = plane(asked.database, asked.record, most=_POINTS)
    if found is None or not found.points:
        why = "no metric has kept θ(r, c) and θ(r, q), as sgi does"
        raise _impossible(asked, _columns(asked), Kind.PLANE, why)
    return plane_figure(found)


def _groups(asked: _Asked) -> Chart:
    from sgi.report.figures import groups_figure

    found = _group_table(asked)
    means = {made.metric for group in found.groups for made in group.metrics if made.mean is not None}
    metrics = [name for name in asked.record.metrics if name in means]
    if not metrics:
        raise _impossible(asked, _columns(asked), Kind.GROUPS, "no metric has a value")
    return groups_figure(found, _metric(asked, metrics))


def _group_table(asked: _Asked) -> GroupTable:
    from sgi.report.views.groups import group_table, group_tables

    if asked.by is not None:
        return group_table(asked.database, asked.record, asked.by)
    columns = _columns(asked)
    tables = group_tables(columns)
    if not tables:
        why = "its data has neither labels of both kinds nor a column with a few values"
        raise _impossible(asked, columns, Kind.GROUPS, f"{why}; name one with --by")
    return tables[0]


def _scatter(asked: _Asked) -> Chart:
    from sgi.report.scatter_figure import scatter_figure
    from sgi.report.views.disagreement import semantic_and_lexical
    from sgi.report.views.scatter import scatter_of

    columns = _columns(asked)
    known = {column.metric: column for column in columns.metrics if column.ok.any()}
    pair = semantic_and_lexical(columns)
    names = dict(zip(("metric", "against"), (column.metric for column in pair or ()), strict=False))
    for name in ("metric", "against"):
        if (given := getattr(asked, name)) is not None:
            names[name] = _named(asked, given, list(known))
    found = None
    if len(names) > 1 and names["metric"] != names["against"]:
        both = (columns.run.metrics[names[name]] for name in ("metric", "against"))
        found = scatter_of(columns, *both, most=_POINTS)
    if found is None:
        why = "it needs two metrics with values for the same rows; name them with -m and --against"
        raise _impossible(asked, columns, Kind.SCATTER, why)
    return scatter_figure(found)


def _correlation(asked: _Asked) -> Chart:
    from sgi.report.figures import correlation_figure
    from sgi.report.views.correlation import correlation

    columns = _columns(asked)
    found = correlation(columns)
    if found is None:
        raise _impossible(asked, columns, Kind.CORRELATION, "fewer than two of its metrics vary")
    return correlation_figure(found)


def _roc(asked: _Asked) -> Chart:
    from sgi.report.figures import roc_figure
    from sgi.report.views.labelled import labelled

    columns = _columns(asked)
    found = [part for part in labelled(columns) if part.roc]
    if not found:
        raise _impossible(asked, columns, Kind.ROC, "no metric has values for rows of both labels")
    return roc_figure(found)


def _reliability(asked: _Asked) -> Chart:
    from sgi.report.figures import reliability_figure
    from sgi.report.views.labelled import labelled

    columns = _columns(asked)
    found = [part for part in labelled(columns) if part.reliability is not None]
    if not found:
        why = "no metric has values for enough rows of both labels"
        raise _impossible(asked, columns, Kind.RELIABILITY, why)
    return reliability_figure(found)


def _comparison(asked: _Asked) -> Chart:
    from sgi.report.figures import comparison_figure
    from sgi.report.views.comparison import comparison_view

    assert asked.new is not None  # noqa: S101 - `_check_options` has seen to it
    view = comparison_view(
        asked.database, asked.record, asked.new, changed=0, allow_different=asked.allow_different
    )
    if all(made.difference.difference is None for made in view.comparison.metrics):
        raise UsageError(
            f"{asked.record.label} and {asked.new.label} have no metric with values for the same rows."
        )
    return comparison_figure(view)


_DRAWN: dict[Kind, Callable[[_Asked], Chart]] = {
    Kind.DISTRIBUTION: _distribution,
    Kind.PLANE: _plane,
    Kind.GROUPS: _groups,
    Kind.SCATTER: _scatter,
    Kind.CORRELATION: _correlation,
    Kind.ROC: _roc,
    Kind.RELIABILITY: _reliability,
    Kind.COMPARISON: _comparison,
}


def _columns(asked: _Asked) -> RunColumns:
    from sgi.report.views.columns import run_columns

    return run_columns(asked.database, asked.record)


def _metric(asked: _Asked, known: list[str]) -> str:
    """The metric that is asked for; the first without."""
    return known[0] if asked.metric is None else _named(asked, asked.metric, known)


def _named(asked: _Asked, wanted: str, known: list[str]) -> str:
    """The metric of this full or bare name."""
    import difflib

    found = [name for name in known if wanted in {name, name.partition("(")[0]}]
    if wanted in known:
        return wanted
    if len(found) == 1:
        return found[0]
    near = tuple(difflib.get_close_matches(wanted, known, n=2))
    hint = f"Those with values: {', '.join(known)}."
    raise UnknownNameError(f"metric with values in {asked.record.label}", wanted, near, hint=hint)


def _impossible(asked: _Asked, columns: RunColumns, kind: Kind, why: str) -> UsageError:
    """Why this cannot be drawn, and what can."""
    kinds = ", ".join(found.value for found in _possible(asked, columns) if found is not kind)
    return UsageError(
        f"{asked.record.label} has nothing for {kind.value}: {why}.",
        hint=f"What can be drawn of it: {kinds}." if kinds else "Nothing can be drawn of it yet.",
    )


def _possible(asked: _Asked, columns: RunColumns) -> list[Kind]:
    from sgi.report.views.correlation import correlation
    from sgi.report.views.distribution import distributions
    from sgi.report.views.groups import group_tables
    from sgi.report.views.labelled import labelled
    from sgi.report.views.plane import plane
    from sgi.report.views.scatter import scatter

    against = labelled(columns)
    spread = distributions(columns)
    points = plane(asked.database, asked.record, most=1)
    there = {
        Kind.DISTRIBUTION: bool(spread),
        Kind.PLANE: points is not None and bool(points.points),
        Kind.GROUPS: bool(spread) and bool(group_tables(columns)),
        Kind.SCATTER: scatter(columns, most=1) is not None,
        Kind.CORRELATION: correlation(columns) is not None,
        Kind.ROC: any(part.roc for part in against),
        Kind.RELIABILITY: any(part.reliability is not None for part in against),
        Kind.COMPARISON: bool(spread),
    }
    return [kind for kind, known in there.items() if known]
