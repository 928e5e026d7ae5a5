"""``sgi plot``: writes one figure of a run to a file, for papers and slides."""

from __future__ import annotations

import difflib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from sgi.cli import options
from sgi.cli.console import talk
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.registry import metric_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.reporting.charts import Chart
    from sgi.reporting.views.columns import RunColumns
    from sgi.reporting.views.groups import GroupTable
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_POINTS = 10_000


class Kind(StrEnum):
    """Kinds of figures."""

    DISTRIBUTION = "distribution"
    PLANE = "plane"
    GROUPS = "groups"
    SCATTER = "scatter"
    CORRELATION = "correlation"
    ROC = "roc"
    RELIABILITY = "reliability"
    COMPARISON = "comparison"


class _Request(NamedTuple):
    """The requested figure."""

    database: Database
    record: RunRecord
    metric: str | None
    against: str | None
    by: str | None
    new: RunRecord | None
    allow_different: bool


def plot(
    run: options.Run,
    kind: Annotated[Kind, typer.Option("-k", "--kind", help="Kind of figure.", show_default=False)],
    out: Annotated[Path, typer.Option("-o", "--out", help="A .png, .svg or .pdf file.", show_default=False)],
    metric: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--metric",
            help="Metric of distribution, groups and scatter (vertical). Default: the first suitable one.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Second metric of scatter (horizontal axis). Default: the first lexical metric."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Column of groups. Default: label, otherwise the first suitable column."),
    ] = None,
    with_: Annotated[
        str | None,
        typer.Option("--with", help="The newer run of comparison.", autocompletion=options.complete_run),
    ] = None,
    width: Annotated[
        int | None,
        options.output_option(min=50, max=5000, help="Width of the axes in points."),
    ] = None,
    height: Annotated[
        int | None,
        options.output_option(min=50, max=5000, help="Height of the axes in points."),
    ] = None,
    scale: Annotated[
        float,
        options.output_option(min=0.1, max=10, help="Pixels per point in a PNG."),
    ] = 2.0,
    allow_different: options.AllowDifferent = False,
    cluster: options.RunCluster = None,
    db: options.Database = None,
    quiet: options.Quiet = False,
) -> None:
    """Write one figure of a run to a file.

    distribution: the values of a metric. plane: every row by θ(r,c) and θ(r,q). groups: the mean of a metric
    in each group. scatter: a semantic against a lexical metric, row by row; rings mark rows that the two rank
    very differently. correlation: rank correlations of the metrics. roc, reliability: metrics against labels.
    comparison: differences to another run. Equal runs give equal PNG and SVG files.

    Examples:
      sgi plot last --kind plane -o plane.pdf
      sgi plot nightly --kind groups -m sgi --by method -o groups.svg --width 300
      sgi plot monday --kind comparison --with friday -o change.png --scale 4
    """
    from sgi.io.write import check_place
    from sgi.reporting.charts import check_figure, save_figure
    from sgi.reporting.descriptions import short
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    _check_options(kind, metric=metric, against=against, by=by, with_=with_)
    check_figure(out)
    check_place(out)  # fails before the work if the file cannot be written
    with open_database(db, create=False) as database:
        record = find_run(database, run).with_clusters(cluster)
        other = None if with_ is None else find_run(database, with_).with_clusters(cluster)
        chart = _DRAWN[kind](_Request(database, record, metric, against, by, other, allow_different))
    sides = {"width": width, "height": height}
    chart |= {name: size for name, size in sides.items() if size is not None}
    save_figure(chart, out, scale=scale)
    if not quiet:
        talk(f"{out} shows {kind.value} of {short(record.label)}. {chart['description']}")


def _check_options(kind: Kind, **values: str | None) -> None:
    """Refuse options that do not apply to this kind of figure."""
    kinds_of = {
        "metric": (Kind.DISTRIBUTION, Kind.GROUPS, Kind.SCATTER),
        "against": (Kind.SCATTER,),
        "by": (Kind.GROUPS,),
        "with_": (Kind.COMPARISON,),
    }
    for name, value in values.items():
        if value is not None and kind not in kinds_of[name]:
            kinds = ", ".join(kind_name.value for kind_name in kinds_of[name])
            raise UsageError(
                f"--{name.strip('_')} does not apply to {kind.value}.", hint=f"It applies to {kinds}."
            )
    if kind is Kind.COMPARISON and values["with_"] is None:
        raise UsageError("A comparison needs a second run.", hint="Add the newer one: --with last.")


def _distribution(request: _Request) -> Chart:
    from sgi.reporting.figures import distribution_figure
    from sgi.reporting.views.distribution import distributions

    columns = _columns(request)
    parts = {part.metric: part for part in distributions(columns)}
    if not parts:
        raise _not_possible(request, columns, Kind.DISTRIBUTION, "no metric has a value")
    return distribution_figure(parts[_metric(request, list(parts))])


def _plane(request: _Request) -> Chart:
    from sgi.reporting.point_figures import plane_figure
    from sgi.store.row_pages import plane

    view = plane(request.database, request.record, most=_POINTS)
    if view is None or not view.points:
        why = "no metric stored θ(r, c) and θ(r, q), as sgi does"
        raise _not_possible(request, _columns(request), Kind.PLANE, why)
    return plane_figure(view)


def _groups(request: _Request) -> Chart:
    from sgi.reporting.figures import groups_figure

    table = _group_table(request)
    means = {metric.metric for group in table.groups for metric in group.metrics if metric.mean is not None}
    metrics = [name for name in request.record.metrics if name in means]
    if not metrics:
        raise _not_possible(request, _columns(request), Kind.GROUPS, "no metric has a value")
    return groups_figure(table, _metric(request, metrics))


def _group_table(request: _Request) -> GroupTable:
    from sgi.reporting.views.groups import group_table, group_tables

    if request.by is not None:
        return group_table(request.database, request.record, request.by)
    columns = _columns(request)
    tables = group_tables(columns)
    if not tables:
        why = "its data has neither labels of both kinds nor a column with a few values"
        raise _not_possible(request, columns, Kind.GROUPS, f"{why}; name one with --by")
    return tables[0]


def _scatter(request: _Request) -> Chart:
    from sgi.reporting.point_figures import scatter_figure
    from sgi.reporting.views.disagreement import semantic_and_lexical
    from sgi.reporting.views.scatter import scatter_of

    columns = _columns(request)
    columns_by_name = {column.metric: column for column in columns.metrics if column.ok.any()}
    pair = semantic_and_lexical(columns)
    names = dict(zip(("metric", "against"), (column.metric for column in pair or ()), strict=False))
    for name in ("metric", "against"):
        if (name_text := getattr(request, name)) is not None:
            names[name] = _metric_name(request, name_text, list(columns_by_name))
    view = None
    if len(names) > 1 and names["metric"] != names["against"]:
        both = (columns.run.metrics[names[name]] for name in ("metric", "against"))
        view = scatter_of(columns, *both, most=_POINTS)
    if view is None:
        why = "it needs two metrics with values for the same rows; name them with -m and --against"
        raise _not_possible(request, columns, Kind.SCATTER, why)
    return scatter_figure(view)


def _correlation(request: _Request) -> Chart:
    from sgi.reporting.figures import correlation_figure
    from sgi.reporting.views.correlation import correlation

    columns = _columns(request)
    matrix = correlation(columns)
    if matrix is None:
        raise _not_possible(request, columns, Kind.CORRELATION, "fewer than two of its metrics vary")
    return correlation_figure(matrix)


def _roc(request: _Request) -> Chart:
    from sgi.reporting.figures import roc_figure
    from sgi.reporting.views.label_metrics import label_metrics

    columns = _columns(request)
    parts = [part for part in label_metrics(columns) if part.roc]
    if not parts:
        raise _not_possible(request, columns, Kind.ROC, "no metric has values for rows of both labels")
    return roc_figure(parts)


def _reliability(request: _Request) -> Chart:
    from sgi.reporting.figures import reliability_figure
    from sgi.reporting.views.label_metrics import label_metrics

    columns = _columns(request)
    parts = [part for part in label_metrics(columns) if part.reliability is not None]
    if not parts:
        why = "no metric has values for enough rows of both labels"
        raise _not_possible(request, columns, Kind.RELIABILITY, why)
    return reliability_figure(parts)


def _comparison(request: _Request) -> Chart:
    from sgi.reporting.chart_specs import has_differences
    from sgi.reporting.figures import comparison_figure
    from sgi.reporting.views.comparison import comparison_view

    assert request.new is not None  # noqa: S101 - `_check_options` requires it
    view = comparison_view(
        request.database, request.record, request.new, changed=0, allow_different=request.allow_different
    )
    if not has_differences(view.comparison):
        raise UsageError(
            f"{request.record.label} and {request.new.label} have no metric with values for the same rows."
        )
    return comparison_figure(view.comparison)


_DRAWN: dict[Kind, Callable[[_Request], Chart]] = {
    Kind.DISTRIBUTION: _distribution,
    Kind.PLANE: _plane,
    Kind.GROUPS: _groups,
    Kind.SCATTER: _scatter,
    Kind.CORRELATION: _correlation,
    Kind.ROC: _roc,
    Kind.RELIABILITY: _reliability,
    Kind.COMPARISON: _comparison,
}


def _columns(request: _Request) -> RunColumns:
    from sgi.reporting.views.columns import run_columns

    return run_columns(request.database, request.record)


def _metric(request: _Request, metrics: list[str]) -> str:
    """The requested metric, otherwise the first one."""
    return metrics[0] if request.metric is None else _metric_name(request, request.metric, metrics)


def _metric_name(request: _Request, text: str, metrics: list[str]) -> str:
    """The metric with this full name, or with this name without parameters."""
    matches = [name for name in metrics if text in {name, metric_name(name)}]
    if text in metrics:
        return text
    if len(matches) == 1:
        return matches[0]
    near = tuple(difflib.get_close_matches(text, metrics, n=2))
    hint = f"Those with values: {', '.join(metrics)}."
    raise UnknownNameError(f"metric with values in {request.record.label}", text, near, hint=hint)


def _not_possible(request: _Request, columns: RunColumns, kind: Kind, why: str) -> UsageError:
    """An error that says why this figure cannot be drawn, and which ones can."""
    kinds = ", ".join(other.value for other in _possible(request, columns) if other is not kind)
    return UsageError(
        f"{request.record.label} cannot be drawn as {kind.value}: {why}.",
        hint=f"Possible kinds: {kinds}." if kinds else "No figure is possible yet.",
    )


def _possible(request: _Request, columns: RunColumns) -> list[Kind]:
    from sgi.reporting.views.correlation import correlation
    from sgi.reporting.views.distribution import distributions
    from sgi.reporting.views.groups import group_tables
    from sgi.reporting.views.label_metrics import label_metrics
    from sgi.reporting.views.scatter import scatter
    from sgi.store.row_pages import plane

    against = label_metrics(columns)
    spread = distributions(columns)
    points = plane(request.database, request.record, most=1)
    possible = {
        Kind.DISTRIBUTION: bool(spread),
        Kind.PLANE: points is not None and bool(points.points),
        Kind.GROUPS: bool(spread) and bool(group_tables(columns)),
        Kind.SCATTER: scatter(columns, most=1) is not None,
        Kind.CORRELATION: correlation(columns) is not None,
        Kind.ROC: any(part.roc for part in against),
        Kind.RELIABILITY: any(part.reliability is not None for part in against),
        Kind.COMPARISON: bool(spread),
    }
    return [kind for kind, is_possible in possible.items() if is_possible]
