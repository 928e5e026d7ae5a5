"""``sgi show``: shows a run, its groups, its worst rows, or one row."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_tables, styled
from sgi.cli.option_values import stored_metrics
from sgi.cli.printed_tables import progress_of, run_facts, state, worst_facts
from sgi.cli.run_output import usage_line
from sgi.kernel.errors import StoreError, UsageError
from sgi.kernel.short_text import metric_label, pluralize
from sgi.reporting.formatting import MetricFormat, moment
from sgi.reporting.terminal_style import FAINT, style_of
from sgi.reporting.views.run_header import state_of
from sgi.reporting.weighted_runs import open_weighted_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.text import Text

    from sgi.engine.summary import MetricSummary
    from sgi.kernel.protocols import Usage
    from sgi.reporting.views.group_view import GroupTable
    from sgi.reporting.views.headline import Headline, ScoredRows
    from sgi.reporting.views.row_view import LowestRows, SampleView
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.scored_runs import Reason


_MAX_REASONS = 5
_MAX_LINE = 400
_view_option = options.option_group("What to show")
_CALIBRATION = "calibration"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


By = Annotated[
    str | None,
    _view_option(help="Split the rows by this column, or by label: show the means of each group."),
]
Spec = Annotated[bool, _view_option("--spec", help="Print only the spec, as TOML that `sgi run` reads.")]
Sort = Annotated[
    str | None,
    _view_option(help="With --by: sort the groups by their mean of this metric, worst first."),
]
Sample = Annotated[
    str | None, _view_option(help="Show one row by its id: texts, and the details of each score.")
]
Worst = Annotated[
    int | None, _view_option(min=1, max=1000, help="Show the N worst rows of a metric, and why.")
]
Metric = Annotated[
    str | None,
    _view_option(
        "-m",
        "--metric",
        help="Metric for --worst. Default: the one with findings, or the most important one.",
        autocompletion=options.complete_metric,
    ),
]


def show(
    run: options.Run,
    by: By = None,
    spec: Spec = False,
    sort: Sort = None,
    sample: Sample = None,
    worst: Worst = None,
    metric: Metric = None,
    define: options.Define = None,
    cluster: options.RunCluster = None,
    weights: options.Weights = None,
    db: options.Database = None,
    percent: options.Percent = True,
    as_json: options.Json = False,
) -> None:
    """Show a run: summary, settings, and how to resume it.

    The means of an unfinished run cover the rows that are scored so far. --by says whether a group is better
    or worse than the other rows; of the groups so named, at most 5 % are false on average. --sample prints
    everything that is stored of a row, including the reply of the judge that caused a failure.

    Examples:
      sgi show last
      sgi show nightly --by question_type
      sgi show nightly --weights traffic
      sgi show last --by method --sort faithfulness
      sgi show last --worst 10 -m faithfulness
      sgi show last --sample q17
      sgi show last --spec > again.toml
    """
    from sgi.reporting.views.group_view import group_table, sorted_groups

    _require_one_view(
        {"--spec": spec or None, "--by": by, "--sample": sample, "--worst": worst},
        (("--sort", "--by", sort), ("-m", "--worst", metric), ("--define", "--worst", define)),
    )
    if metric is not None:
        (metric,) = stored_metrics([metric], define)
    with open_weighted_runs(db, run, cluster=cluster, weights=weights) as (database, (record,)):
        if spec and as_json:
            print_json(record.spec)
        elif spec:
            print_lines(toml_lines({key: value for key, value in record.spec.items() if key != "name"}))
        elif sample is not None:
            _show_sample(database, record, sample, as_json=as_json)
        elif by is not None:
            table = sorted_groups(group_table(database, record, by), sort)
            _show_groups(record, table, percent=percent, as_json=as_json)
        elif worst is not None:
            _show_worst(database, record, metric, worst, percent=percent, as_json=as_json)
        else:
            _show_all(database, record, percent=percent, as_json=as_json)


def _require_one_view(views: Mapping[str, object], needs: Iterable[tuple[str, str, object]]) -> None:
    """Require at most one view; ``needs`` are options with the view that each needs, and their values."""
    names = [name for name, value in views.items() if value is not None]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} cannot be combined.", hint="Use one of them.")
    for name, view, value in needs:
        if value is not None and names and names != [view]:
            hint = f"Leave out {name}, or use {view} in place of {names[0]}."
            raise UsageError(f"{name} cannot be combined with {names[0]}.", hint=hint)
        if value is not None and not names:
            raise UsageError(f"{name} needs {view}.", hint=f"Add {view}.")


def _show_all(database: Database, record: RunRecord, *, percent: bool, as_json: bool) -> None:
    from sgi.cli.first_screen import print_first_screen
    from sgi.engine.summary import reasons_without_interval
    from sgi.reporting.label_tables import audited_tables
    from sgi.reporting.tables import class_lines, summary_tables
    from sgi.reporting.views.headline import headline
    from sgi.store.run_queries import run_usage
    from sgi.store.scored_runs import reasons

    if as_json:
        print_json(summary_facts(database, record))
        return
    summary = headline(database, record)
    list_of_reasons, usage = reasons(database, record), run_usage(database, record.id)
    print_first_screen(database, record, summary.metrics, summary.blank)
    print_lines([*_head(record), ""])
    print_tables(summary_tables(summary, percent=percent, rows=record.rows))
    print_tables(audited_tables(database, record))
    print_lines([*class_lines(summary.metrics), *reasons_without_interval(summary.metrics), record.signature])
    print_lines(["", *_notes(summary), *_gaps(record, list_of_reasons), *_judges(usage), *_origin(record)])


def summary_facts(database: Database, record: RunRecord) -> dict[str, Any]:
    """Return a run and its summary as JSON values."""
    from sgi.analysis.audit.audited_means import audited_means
    from sgi.cli.first_screen import first_screen_facts
    from sgi.reporting.views.headline import headline, headline_notes
    from sgi.store.run_queries import run_usage
    from sgi.store.scored_runs import reasons

    summary = headline(database, record)
    usage = run_usage(database, record.id)
    return {
        **_facts(record),
        **first_screen_facts((database, record), summary.metrics, summary.blank),
        "summary": _summary(record, summary),
        "audits": [mean.to_dict() for mean in audited_means(database, record)],
        "reasons": [reason._asdict() for reason in reasons(database, record)],
        "usage": {judge: asdict(counts) for judge, counts in usage.items()},
        "notes": [*headline_notes(summary)],
    }


def _show_sample(database: Database, record: RunRecord, sample: str, *, as_json: bool) -> None:
    from sgi.cli.printed_row import sample_facts, sample_lines
    from sgi.store.evaluations import sample_evaluation

    evaluation = sample_evaluation(database, record, sample)
    if as_json:
        print_json(sample_facts(evaluation))
    else:
        print_lines(sample_lines(evaluation))
        print_lines(["", f"The causes of all rows: sgi diagnose {record.id} -o diagnosis.jsonl"])


def _notes(summary: Headline) -> Iterator[str]:
    """Yield notes on the limits of the numbers."""
    from sgi.reporting.views.headline import headline_notes

    lines = [one_line(note, longest=_MAX_LINE) for note in headline_notes(replace(summary, partial=""))]
    yield from [*lines, ""] if lines else ()


def _show_worst(
    database: Database, record: RunRecord, metric: str | None, most: int, *, percent: bool, as_json: bool
) -> None:
    from sgi.cli.first_screen import terminal_width
    from sgi.reporting.overview import row_lines
    from sgi.reporting.views.headline import scored_rows

    columns = scored_rows(database, record)
    lowest = worst_rows(database, record, columns, metric, most)
    if lowest is None:
        what = "no metric" if metric is None else f"no row with a value of {metric}"
        raise UsageError(f"{record.label} has {what} to sort by.", hint="`sgi show RUN` says why.")
    if as_json:
        print_json(_facts(record) | worst_facts(lowest))
        return
    column = columns.run.metric(lowest.metric)
    form = MetricFormat(column.unit, percent and column.is_share)
    print_lines(row_lines(lowest, form.value, terminal_width(), questions=True))
    print_lines(["", f"Show a whole row: sgi show {record.id} --sample ID"])


def worst_rows(
    database: Database, record: RunRecord, columns: ScoredRows, metric: str | None, most: int
) -> LowestRows[SampleView] | None:
    """Return the worst rows of a metric, by default of the one with findings; None without values."""
    from sgi.reporting.views.row_view import lowest_ids, lowest_rows, main_ids

    ids = lowest_ids(columns, most=most, metric=metric) if metric else main_ids(columns, most=most)
    return next(iter(lowest_rows(database, record, ids)), None)


def _gaps(record: RunRecord, reasons_without_value: list[Reason]) -> Iterator[str | Text]:
    """Yield the most frequent reasons why rows have no value, and the number of others."""
    shown, others = reasons_without_value[:_MAX_REASONS], reasons_without_value[_MAX_REASONS:]
    for reason in shown:
        why = f"  {metric_label(reason.metric)}: {one_line(reason.reason, longest=_MAX_LINE)}"
        yield styled(f"{reason.rows:,} ", (reason.status, style_of(reason.status)), why)
    if others:
        values = f"{sum(reason.rows for reason in others):,} without a value"
        yield f"{values} for {pluralize(len(others), 'other reason')}: sgi show {record.id} --json"
    if shown:
        yield ""


def _judges(usage: Mapping[str, Usage]) -> Iterator[str]:
    """Yield the requests, tokens and cost of each judge."""
    for judge, counts in usage.items():
        yield one_line(judge, longest=_MAX_LINE)
        yield usage_line(counts)
    if usage:
        yield ""


def _show_groups(record: RunRecord, table: GroupTable, *, percent: bool, as_json: bool) -> None:
    from sgi.engine.summary import without_interval
    from sgi.reporting.tables import group_tables

    notes_of_groups = [] if table.weighting is None else list(table.weighting.notes())
    if as_json:
        groups = [group.to_dict() for group in table.groups]
        weighted = {"notes": notes_of_groups} if notes_of_groups else {}
        print_json(_facts(record) | {"by": table.by, "groups": groups} | weighted)
        return
    print_lines([*_head(record), ""])
    print_tables(group_tables(table.by, table.groups, percent=percent))
    lacking = (
        (f"{metric_label(metric.metric)} of {group.name}", metric.no_interval)
        for group in table.groups
        for metric in group.metrics
        if metric.mean is not None
    )
    print_lines([*notes_of_groups, *without_interval(lacking), record.signature])


def _summary(record: RunRecord, summary: Headline) -> dict[str, Any]:
    """Return the stored summary; the metrics are computed now if there is none, or for other clusters."""
    if record.summary is None:
        return _partial(record, summary.metrics)
    if not summary.recomputed:
        return {**record.summary}
    metrics = [metric.to_dict() for metric in summary.metrics]
    return {
        **record.summary,
        "metrics": metrics,
        "baselines": [],
        "questions": summary.questions,
        "clustering": asdict(summary.clustering),
        **({} if summary.weighting is None else {"weighting": asdict(summary.weighting)}),
    }


def _partial(record: RunRecord, metrics: tuple[MetricSummary, ...]) -> dict[str, Any]:
    """Return the summary of an unfinished run; coverage is over all rows of the data."""
    entries = [
        metric_summary.to_dict() | {"rows": record.rows, "coverage": metric_summary.ok / record.rows}
        for metric_summary in metrics
    ]
    return {"rows": record.scored, "metrics": entries, "signature": record.signature}


def _facts(record: RunRecord) -> dict[str, Any]:
    return {"run": run_facts(record) | {"spec": record.spec, "versions": record.versions}}


def _head(record: RunRecord) -> Iterator[Text]:
    if record.name:
        yield _fact("name", one_line(record.name))
    yield _fact("run", record.id)
    yield _fact("data", one_line(record.dataset_name))
    yield _fact("rows", progress_of(record))
    if record.no_texts:
        yield _fact("texts", "not stored (digests instead)")
    if record.rejected:
        yield _fact("rejected", f"{pluralize(record.rejected, 'row')} that could not be read")
    yield _fact("state", state(record, longest=1000), style_of(state_of(record)))
    end = f", finished {moment(record.finished_at)}" if record.finished_at else ""
    yield _fact("time", f"started {moment(record.created_at)}{end}")
    if record.scored < record.rows:
        yield _fact("summary", "of the rows scored so far")
    elif record.summary is None:
        yield _fact("summary", "computed now from the scores of the rows")


def _fact(name: str, value: str, style: str = "") -> Text:
    return styled((f"{name:<10}", FAINT), (value, style))


def _origin(record: RunRecord) -> Iterator[str]:
    """Yield the spec and the versions of the run, and how to resume it."""
    from sgi.engine.stored_options import resume_flags, stored_options

    yield from toml_lines({name: value for name, value in record.spec.items() if name != _CALIBRATION})
    calibration = record.spec.get(_CALIBRATION)
    if calibration:
        target = (calibration["thresholds"] or {}).get("target")
        guarantee = f" for {target['rate']}={target['value']}" if target else ""
        facts = f"{calibration['metric']}{guarantee}, fitted on run {calibration['run']}"
        yield f"calibration of {one_line(facts, longest=_MAX_LINE)}; in full: sgi show {record.id} --spec"
    yield ""
    yield ", ".join(f"{name} {version}" for name, version in record.versions.items())
    elsewhere = {"imported_from", "service", "rescored_from"}
    if not record.finished and elsewhere.isdisjoint(record.spec):
        with suppress(StoreError):  # damaged settings cannot be resumed
            yield f"Resume it: sgi run --resume {record.id}{resume_flags(stored_options(record))}"


def toml_lines(spec: Mapping[str, Any]) -> Iterator[str]:
    r"""Return the lines of a spec as TOML, one per key; null values, which TOML lacks, are left out.

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
    """Quote as JSON, and escape characters that TOML forbids or that control a terminal."""
    return _CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(text, ensure_ascii=False))
