"""``sgi audit``: says whether a judge, or any metric with a verdict of yes or no, may be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_notes, print_tables, styled
from sgi.cli.option_values import stored_metrics
from sgi.cli.run_options import Values, with_run_options
from sgi.kernel.short_text import metric_label, pluralize
from sgi.reporting.terminal_style import style_of
from sgi.store.label_consensus import PEOPLE
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.analysis.audit.audit import Audit

_NOT_TRUSTED = 4

LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Column of the data with the labels yes and no, or `people` for labels from the dashboard. "
        "Default: label if the data has it, otherwise people.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Scores of at least this value are a yes; if lower is better, scores of at most this value. "
        "Default: the middle of the range, such as 0.5."
    ),
]
Probes = Annotated[
    str | None,
    typer.Option(
        "--probe",
        help="Test for bias: all, or some of order, length, format, name, instruction and repeat, with "
        "commas. Each asks the judge at most 300 times; replies are cached.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        help="An earlier run: ask the judge again about 100 of its rows, and say whether verdicts changed."
    ),
]
Next = Annotated[
    int, typer.Option("--next", min=0, help="Number of rows to list that should be labelled next.")
]


@with_run_options("judge", "cache")
def audit(
    run: options.Run,
    metric: options.RunMetric,
    values: Values,
    labels: LabelColumn = None,
    threshold: Threshold = None,
    probe: Probes = None,
    since: Since = None,
    following: Next = 0,
    define: options.Define = None,
    db: options.Database = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Say whether a judge may be trusted: TRUSTED, NOT TRUSTED or NEED n MORE LABELS.

    The verdict compares yes and no of the judge, or of another metric, with labels by people. You may look
    after every label: of judges with a balanced accuracy below 0.75, at most 5 % are ever called TRUSTED, and
    of those above 0.9 at most 5 % are ever called NOT TRUSTED. The labelled rows must be a random sample.

    The audit is stored. `sgi gate --require-audit` and the corrected means of later runs use it, as long as
    judge, prompts and labels stay the same. A bias that a probe finds, or a drift, rules out TRUSTED.
    Exit code 4 if the verdict is not TRUSTED.

    Examples:
      sgi audit last -m faithfulness --labels people
      sgi audit last -m faithfulness --next 20
      sgi audit nightly -m faithfulness --probe all
      sgi audit nightly -m faithfulness --since monday
      sgi gate last "faithfulness>=0.8" --require-audit
    """
    from sgi import api
    from sgi.analysis.audit.label_sample import rows_to_label

    (metric,) = stored_metrics([metric], define)
    result = api.audit(
        run,
        metric,
        labels,
        threshold=threshold,
        probes=_names(probe),
        since=since,
        judge=values.get("judge"),
        cache=values.get("cache", True),
        db=db,
    )
    rows = []
    if following:
        with open_runs(db, run) as (database, (record,)):
            rows = rows_to_label(database, record, result.metric, result.threshold, result.used, following)
    if as_json:
        following_rows = [{"id": name, "probability": chance} for name, chance in rows]
        print_json(result.to_dict() | ({"next": following_rows} if following else {}))
    else:
        _show(result)
        print_lines(_following(result, rows))
        if not quiet:
            print_notes(result.notes)
    if result.verdict != "TRUSTED":
        raise typer.Exit(_NOT_TRUSTED)


def _names(probe: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in (probe or "").split(","))))


def _show(result: Audit) -> None:
    from sgi.reporting.label_tables import audit_tables

    name = f"{one_line(metric_label(result.metric))} in {one_line(result.run)}: "
    style = style_of("passed" if result.verdict == "TRUSTED" else "failed")
    labels = (
        f"{pluralize(result.counts.labelled, 'label')} of {pluralize(result.rows, 'question')},"
        f" column {one_line(result.label)}; "
        f"a verdict is yes {'from' if result.higher_is_better else 'up to'} {result.threshold:g}"
    )
    print_lines([styled(name, (result.text, style)), one_line(result.reason, longest=800), labels, ""])
    print_tables(audit_tables(result))
    says = [probe.says for probe in result.probes] + ([] if result.drift is None else [result.drift.says])
    print_lines(one_line(sentence, longest=400) for sentence in says)


def _following(result: Audit, rows: Sequence[tuple[str, float]]) -> Iterator[str]:
    """Yield how to get more labels, and the rows to label next."""
    if result.verdict != "NEED" and not rows:
        return
    if not result.left:
        yield "Every question of this run has a label. Audit a larger run."
        return
    page, name = f"/runs/{result.run_id}/labels", one_line(metric_label(result.metric))
    use = "" if result.label == PEOPLE else f" Then use --labels {PEOPLE}."
    yield f"Label the next rows: sgi serve, page {page}, order: for an audit of {name}.{use}"
    for row, chance in rows:
        yield f"  {one_line(row)}  in the sample with probability {chance:.3f}"
