"""``sgi runs plot``: writes one figure of a run to a file, for papers and slides."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import print_message
from sgi.cli.option_values import stored_metrics
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.registry import metric_name
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.reporting.charts import Chart
    from sgi.reporting.views.group_view import GroupTable
    from sgi.reporting.views.headline import ScoredRows
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


@dataclass(frozen=True)
class _Request:
    """What the user requested: the runs and the options of the figure."""

    database: Database
    record: RunRecord
    metric: str | None
    against: str | None
    by: str | None
    new: RunRecord | None
    allow_different: bool

    @cached_property
    def columns(self) -> ScoredRows:
        from sgi.reporting.views.headline import scored_rows

        return scored_rows(self.database, self.record)


class _NotPossibleError(Exception):
    """A run cannot be drawn as this kind of figure; the message says why."""


FigureKind = Annotated[Kind, typer.Option("-k", "--kind", help="Kind of figure.", show_default=False)]
Out = Annotated[Path, typer.Option("-o", "--out", help="A .png, .svg or .pdf file.", show_default=False)]
Metric = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--metric",
        autocompletion=options.complete_metric,
        help="Metric for the kinds distribution, groups and scatter (vertical axis). Default: the first "
        "suitable one.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--versus",
        help="Second metric for the kind scatter (horizontal axis). Default: the first lexical metric.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        help="Split the rows by this column, for the kind groups. Default: label, otherwise the first "
        "suitable column."
    ),
]
With = Annotated[
    str | None,
    typer.Option(
        "--with", help="The newer run, for the kind comparison.", autocompletion=options.complete_run
    ),
]
Width = Annotated[
    int | None, options.output_option(min=50, max=5000, help="Width of the axes, in typographic points.")
]
Height = Annotated[
    int | None, options.output_option(min=50, max=5000, help="Height of the axes, in typographic points.")
]
Scale = Annotated[
    float,
    options.output_option(
        "--pixels", min=0.1, max=10, help="Pixels of a PNG per typographic point (1/72 inch)."
    ),
]


def plot(
    run: options.Run,
    kind: FigureKind,
    out: Out,
    metric: Metric = None,
    define: options.Define = None,
    against: Against = None,
    by: By = None,
    with_: With = None,
    width: Width = None,
    height: Height = None,
    scale: Scale = 2.0,
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
      sgi runs plot last --kind plane -o plane.pdf
      sgi runs plot nightly --kind groups -m sgi --by method -o groups.svg --width 300
      sgi runs plot monday --kind comparison --with friday -o change.png --pixels 4
    """
    from sgi.io.write import check_place
    from sgi.reporting.charts import check_figure, save_figure
    from sgi.reporting.descriptions import short

    if define is not None and metric is None and against is None:
        raise UsageError("--define needs -m.", hint="Name a metric that the file defines.")
    metric, against = (name and stored_metrics([name], define)[0] for name in (metric, against))
    _check_options(kind, metric=metric, against=against, by=by, with_=with_)
    check_figure(out)
    check_place(out)  # fails before the work if the file cannot be written
    names = (run,) if with_ is None else (run, with_)
    with open_runs(db, *names, cluster=cluster) as (database, (record, *others)):
        other = others[0] if others else None
        chart = _figure(kind, _Request(database, record, metric, against, by, other, allow_different))
    sides = {"width": width, "height": height}
    chart |= {name: size for name, size in sides.items() if size is not None}
    save_figure(chart, out, scale=scale)
    if not quiet:
        print_message(f"{out} shows {kind.value} of {short(record.label)}. {chart['description']}")


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


def _figure(kind: Kind, request: _Request) -> Chart:
    """Draw the run; if that is not possible, raise an error that says why, and which kinds are possible."""
    try:
        return _FIGURES[kind](request)
    except _NotPossibleError as error:
        request = replace(request, metric=None, against=None, by=None)
        kinds = ", ".join(other.value for other in Kind if other is not kind and _is_possible(other, request))
        raise UsageError(
            f"{request.record.label} cannot be drawn as {kind.value}: {error}.",
            hint=f"Possible kinds: {kinds}." if kinds else "No figure is possible yet.",
        ) from None


def _is_possible(kind: Kind, request: _Request) -> bool:
    if kind is Kind.COMPARISON:
        return _is_possible(Kind.DISTRIBUTION, request)  # the other run is not known
    try:
        _FIGURES[kind](request)
    except _NotPossibleError:
        return False
    return True


def _distribution(request: _Request) -> Chart:
    from sgi.reporting.figures import distribution_figure
    from sgi.reporting.views.metric_values import distributions

    parts = {part.metric: part for part in distributions(request.columns)}
    if not parts:
        raise _NotPossibleError("no metric has a value")
    return distribution_figure(parts[_metric(request, list(parts))])


def _plane(request: _Request) -> Chart:
    from sgi.reporting.point_figures import plane_figure
    from sgi.store.angle_plane import plane

    view = plane(request.database, request.record, most=_POINTS)
    if view is None or not view.points:
        raise _NotPossibleError("no metric of the run stores the angles θ(r, c) and θ(r, q); sgi does")
    return plane_figure(view)


def _groups(request: _Request) -> Chart:
    from sgi.reporting.figures import groups_figure

    table = _group_table(request)
    means = {metric.metric for group in table.groups for metric in group.metrics if metric.mean is not None}
    metrics = [name for name in request.record.metrics if name in means]
    if not metrics:
        raise _NotPossibleError("no metric has a value")
    return groups_figure(table, _metric(request, metrics))


def _group_table(request: _Request) -> GroupTable:
    from sgi.reporting.views.group_view import group_table, group_tables

    if request.by is not None:
        return group_table(request.database, request.record, request.by)
    tables = group_tables(request.columns)
    if not tables:
        why = "its data has neither labels of both kinds nor a column with a few values"
        raise _NotPossibleError(f"{why}; name one with --by")
    return tables[0]


def _scatter(request: _Request) -> Chart:
    from sgi.reporting.point_figures import scatter_figure
    from sgi.reporting.views.metric_pairs import scatter_of, semantic_and_lexical

    columns = request.columns
    with_values = [column.metric for column in columns.metrics if column.ok.any()]
    pair = semantic_and_lexical(columns)
    names = dict(zip(("metric", "against"), (column.metric for column in pair or ()), strict=False))
    for option, name in (("metric", request.metric), ("against", request.against)):
        if name is not None:
            names[option] = _metric_name(request, name, with_values)
    view = None
    if len(names) > 1 and names["metric"] != names["against"]:
        both = (columns.run.metrics[names[option]] for option in ("metric", "against"))
        view = scatter_of(columns, *both, most=_POINTS)
    if view is None:
        why = "it needs two metrics with values for the same rows"
        raise _NotPossibleError(f"{why}; name them with -m and --versus")
    return scatter_figure(view)


def _correlation(request: _Request) -> Chart:
    from sgi.reporting.figures import correlation_figure
    from sgi.reporting.views.metric_pairs import correlation

    matrix = correlation(request.columns)
    if matrix is None:
        raise _NotPossibleError("fewer than two of its metrics have different values")
    return correlation_figure(matrix)


def _roc(request: _Request) -> Chart:
    from sgi.reporting.figures import roc_figure
    from sgi.reporting.views.metric_values import label_metrics

    parts = [part for part in label_metrics(request.columns) if part.roc]
    if not parts:
        raise _NotPossibleError("no metric has values for rows of both labels")
    return roc_figure(parts)


def _reliability(request: _Request) -> Chart:
    from sgi.reporting.figures import reliability_figure
    from sgi.reporting.views.metric_values import label_metrics

    parts = [part for part in label_metrics(request.columns) if part.reliability is not None]
    if not parts:
        raise _NotPossibleError("no metric has values for enough rows of both labels")
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


_FIGURES: dict[Kind, Callable[[_Request], Chart]] = {
    Kind.DISTRIBUTION: _distribution,
    Kind.PLANE: _plane,
    Kind.GROUPS: _groups,
    Kind.SCATTER: _scatter,
    Kind.CORRELATION: _correlation,
    Kind.ROC: _roc,
    Kind.RELIABILITY: _reliability,
    Kind.COMPARISON: _comparison,
}


def _metric(request: _Request, metrics: list[str]) -> str:
    """Return the requested metric, or the first one if none is requested."""
    return metrics[0] if request.metric is None else _metric_name(request, request.metric, metrics)


def _metric_name(request: _Request, text: str, metrics: list[str]) -> str:
    """Return the metric with this full name, or with this name without parameters."""
    matches = [name for name in metrics if text in {name, metric_name(name)}]
    if text in metrics:
        return text
    if len(matches) == 1:
        return matches[0]
    near = tuple(difflib.get_close_matches(text, metrics, n=2))
    hint = f"Metrics with values: {', '.join(metrics)}."
    raise UnknownNameError(f"metric with values in {request.record.label}", text, near, hint=hint)
