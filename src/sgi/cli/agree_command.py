"""``sgi judge agree``: compares a run's metrics with human labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_message, print_notes, print_tables
from sgi.cli.option_values import metric_list, stored_metrics
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize_part
from sgi.reporting.formatting import number as number_text
from sgi.reporting.formatting import span
from sgi.reporting.label_tables import corrected_means, estimate_cells
from sgi.reporting.table import Table
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.analysis.agreement.report import AgreementReport, MetricAgreement
    from sgi.stats.agreement import Agreement


Label = Annotated[
    str | None,
    typer.Option(
        help="Column of the data with the human labels; `people` for labels from the dashboard, or "
        "`people:METRIC` for those of rows drawn by the uncertainty of a metric. Default: label if the data "
        "has it, otherwise people."
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Scores of at least this value count as yes; if lower is better, scores of at most this value. "
        "Default: 0.5."
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(help="LOW:HIGH, the scale of the labels, if it differs from the scale of the metric."),
]
Weights = Annotated[
    Literal["quadratic", "linear"],
    typer.Option(
        "--kappa-weights",
        help="How kappa weights disagreements between numbers or grades: by their square, or linearly.",
    ),
]


def agree(
    run: options.Run,
    label: Label = None,
    metric: options.RunMetrics = None,
    define: options.Define = None,
    threshold: Threshold = None,
    scale: Scale = None,
    weights: Weights = "quadratic",
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
      sgi judge agree last
      sgi judge agree nightly --label human -m faithfulness --threshold 0.8
      sgi judge agree nightly --label stars --scale 1:5 --json
    """
    from sgi import api

    metrics = stored_metrics(metric_list(metric or []), define)
    with open_runs(db, run) as (_, (record,)):
        report = api.agree(
            record.id,
            label,
            metrics=metrics,
            threshold=threshold,
            weights=weights,
            scale=None if scale is None else _parse_scale(scale),
            cluster=cluster,
            db=db,
        )
    if as_json:
        print_json(report.to_dict())
    else:
        column = one_line(report.column)
        rows = pluralize_part(report.labelled, report.rows, "row", "has", "have")
        labelled = f"{rows} a label in {column} ({report.kind})"
        print_lines([f"{one_line(report.run)}: {labelled}", ""])
        print_tables(agreement_tables(report, percent=percent))
        print_lines([*_verdicts(report.metrics), report.signature])
    if record.scored < record.rows:
        rows = pluralize_part(record.scored, record.rows, "row", "is", "are")
        print_message(f"{record.label} is not finished: {rows} compared.")
    print_notes(report.notes)


def _parse_scale(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise UsageError(f"Cannot read --scale {text!r}.", hint="Write --scale 0:3, low end first.") from None


def agreement_tables(report: AgreementReport, *, percent: bool) -> list[Table]:
    """Return the tables that have rows: agreement, correlations, rates by label and corrected means."""
    tables = [
        _chance_corrected(report.metrics),
        _correlations(report.metrics),
        _rates(report.metrics, percent=percent),
        corrected_means(report.metrics, report.column, percent=percent),
    ]
    return [table for table in tables if table.rows]


def _chance_corrected(metrics: Iterable[MetricAgreement]) -> Table:
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
    return number_text(agreement.value), span(agreement.interval)


def _rates(metrics: Iterable[MetricAgreement], *, percent: bool) -> Table:
    columns = ("sensitivity", "95 % interval", "of yes", "specificity", "95 % interval", "of no", "intervals")
    rows = []
    for agreement in metrics:
        if agreement.sensitivity is not None and agreement.specificity is not None:
            both = (agreement.sensitivity, agreement.specificity)
            cells = [
                cell for one in both for cell in (*estimate_cells(one, percent=percent), f"{one.rows:,}")
            ]
            methods = dict.fromkeys(one.interval.method for one in both if one.interval is not None)
            rows.append((agreement.metric, *cells, ", ".join(methods)))
    return Table(("verdicts", *columns), rows, left=["intervals"])


def _verdicts(metrics: Iterable[MetricAgreement]) -> Iterator[str]:
    """Yield a line for each metric: its verdicts, and why numbers are missing."""
    for agreement in metrics:
        parts = [f"not compared: {agreement.reason}."] if agreement.reason else [*agreement.verdicts]
        coefficients = {
            "kappa": agreement.kappa,
            "alpha": agreement.alpha,
            "Pearson": agreement.pearson,
            "Spearman": agreement.spearman,
        }
        parts += [f"{name}: {one.reason}." for name, one in coefficients.items() if one and one.reason]
        yield f"{one_line(agreement.metric)}: {one_line(' '.join(parts), longest=800)}"
    yield ""
