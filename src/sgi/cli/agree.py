"""``sgi agree``: compares a run's metrics with human labels."""

from __future__ import annotations

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
from sgi.cli.option_values import metric_list
from sgi.kernel.errors import UsageError
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.analysis.agreement.report import AgreementReport, Estimate, MetricAgreement
    from sgi.reporting.table import Table
    from sgi.stats.agreement import Agreement
    from sgi.store.run_queries import RunRecord

_MAX_NOTE = 400


def agree(
    run: options.Run,
    label: Annotated[str, typer.Option(help="Column of the data with the human labels.")] = "label",
    metric: options.RunMetrics = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Scores of at least this value count as yes (at most, if lower is better). Default: 0.5."
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(help="LOW:HIGH, the scale of the labels, if it differs from the scale of the metric."),
    ] = None,
    weights: Annotated[
        Literal["quadratic", "linear"],
        typer.Option(help="Weight of a disagreement between numbers or grades in kappa."),
    ] = "quadratic",
    cluster: options.RunCluster = None,
    db: options.Database = None,
    percent: options.Percent = True,
    as_json: options.Json = False,
) -> None:
    """Measure agreement with human labels, and correct the means of a run.

    Labels are yes or no (true, 1, …: the answer is good), numbers, or names of a metric's classes or grades.
    Numbers and grades also get Pearson's and Spearman's correlation. The corrected mean needs few labels: it
    combines them with the scores of all rows (prediction-powered inference). The labelled rows must be a
    random sample. Intervals are 95 % confidence intervals over clusters of rows, by default questions.

    Examples:
      sgi agree last
      sgi agree nightly --label human -m faithfulness --threshold 0.8
      sgi agree nightly --label stars --scale 1:5 --json
    """
    from sgi.analysis.agreement import agree as engine
    from sgi.engine.summarise import class_keys
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run
    from sgi.store.scored_runs import grouped_run

    ends = None if scale is None else _ends(scale)
    with open_database(db, create=False) as database:
        record = find_run(database, run).with_clusters(cluster)
        scored, values, classes = grouped_run(database, record, label, class_keys(record.metrics))
    made = engine.agree(
        scored,
        label,
        values,
        metrics=metric_list(metric or []),
        classes=classes,
        threshold=threshold,
        weights=weights,
        scale=ends,
    )
    with readers_may_leave():
        if as_json:
            print_json(made.to_dict())
        else:
            print_lines([f"{one_line(made.run)}: {_head(made)}", ""])
            print_tables(agreement_tables(made, percent=percent))
            print_lines([*_verdicts(made.metrics), made.signature])
    for line in (*_unfinished(record), *made.notes):
        talk(one_line(line, longest=_MAX_NOTE))


def _ends(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise UsageError(f"Cannot read --scale {text!r}.", hint="Write --scale 0:3, low end first.") from None


def _head(report: AgreementReport) -> str:
    return (
        f"{report.labelled:,} of {report.rows:,} rows have a label in {one_line(report.column)} "
        f"({report.kind})"
    )


def _unfinished(record: RunRecord) -> Iterator[str]:
    if record.scored < record.rows:
        yield f"{record.label} is not finished: {record.scored:,} of {record.rows:,} rows are compared."


def agreement_tables(report: AgreementReport, *, percent: bool) -> list[Table]:
    """Agreement, correlations, rates by label and corrected means; empty tables are left out."""
    tables = [
        _beyond_chance(report.metrics),
        _correlations(report.metrics),
        _rates(report.metrics, percent=percent),
        _corrected(report.metrics, percent=percent),
    ]
    return [table for table in tables if table.rows]


def _beyond_chance(metrics: Iterable[MetricAgreement]) -> Table:
    columns = ("compared", "kappa", "95 % interval", "alpha", "95 % interval", "labelled", "no value")
    rows = []
    for agreement in metrics:
        if agreement.kappa is not None and agreement.alpha is not None:
            kinds = dict.fromkeys((agreement.weights, agreement.scale))
            compared = f"{agreement.compared} ({', '.join(kinds)})"
            numbers = (*_agreement(agreement.kappa), *_agreement(agreement.alpha))
            counts = (f"{agreement.rows:,}", f"{sum(agreement.lacking.values()):,}")
            rows.append((agreement.metric, compared, *numbers, *counts))
    return Table(("agreement", *columns), rows, left=["compared"])


def _correlations(metrics: Iterable[MetricAgreement]) -> Table:
    rows = [
        (agreement.metric, *_agreement(agreement.pearson), *_agreement(agreement.spearman))
        for agreement in metrics
        if agreement.pearson is not None and agreement.spearman is not None
    ]
    return Table(("correlation", "Pearson", "95 % interval", "Spearman", "95 % interval"), rows)


def _agreement(agreement: Agreement) -> tuple[str, str]:
    return scaled(agreement.value, percent=False), span(agreement.interval, percent=False)


def _rates(metrics: Iterable[MetricAgreement], *, percent: bool) -> Table:
    columns = ("sensitivity", "95 % interval", "of yes", "specificity", "95 % interval", "of no", "intervals")
    rows = []
    for agreement in metrics:
        if agreement.sensitivity is not None and agreement.specificity is not None:
            both = (agreement.sensitivity, agreement.specificity)
            cells = [cell for one in both for cell in (*_estimate(one, percent=percent), f"{one.rows:,}")]
            methods = dict.fromkeys(one.interval.method for one in both if one.interval is not None)
            rows.append((agreement.metric, *cells, ", ".join(methods)))
    return Table(("verdicts", *columns), rows, left=["intervals"])


def _corrected(metrics: Iterable[MetricAgreement], *, percent: bool) -> Table:
    interval = "95 % interval"
    columns = (
        "its own",
        interval,
        "labels alone",
        interval,
        "corrected",
        interval,
        "lambda",
        "labels / rows",
    )
    table = []
    for agreement in metrics:
        if agreement.corpus is not None:
            three = (agreement.corpus.naive, agreement.corpus.labels, agreement.corpus.corrected)
            as_percent = percent and agreement.is_share
            cells = [cell for one in three for cell in _estimate(one, percent=as_percent)]
            rows = f"{agreement.corpus.labels.rows:,} / {agreement.corpus.naive.rows:,}"
            table.append((agreement.metric, *cells, f"{agreement.corpus.power:.2f}", rows))
    return Table(("mean", *columns), table)


def _estimate(estimate: Estimate, *, percent: bool) -> tuple[str, str]:
    return scaled(estimate.value, percent=percent), span(estimate.interval, percent=percent)


def _verdicts(metrics: Iterable[MetricAgreement]) -> Iterator[str]:
    """The verdicts, and why numbers are missing."""
    for agreement in metrics:
        parts = [f"not compared: {agreement.reason}."] if agreement.reason else [*agreement.verdicts]
        coefficients = {
            "kappa": agreement.kappa,
            "alpha": agreement.alpha,
            "Pearson": agreement.pearson,
            "Spearman": agreement.spearman,
        }
        parts += [f"{name}: {one.reason}." for name, one in coefficients.items() if one and one.reason]
        yield f"{one_line(agreement.metric)}: {one_line(' '.join(parts), longest=2 * _MAX_NOTE)}"
    yield ""
