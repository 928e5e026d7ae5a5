"""A run, or two side by side, as a Markdown page: for a pull request, a wiki, or a letter."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from sgi.analysis.groups import class_tables
from sgi.report import formatting as wording
from sgi.report.descriptions import description_of, description_of_scatter
from sgi.report.evidence_map_markdown import support_markdown
from sgi.report.formatting import number, plain, probability, scaled, span
from sgi.report.markdown import code, escaped
from sgi.report.markdown import table as markdown_table
from sgi.report.row_details import support

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sgi.engine.summary import MetricSummary
    from sgi.kernel.protocols import Usage
    from sgi.report.views.comparison import ComparisonView
    from sgi.report.views.correlation import Correlation
    from sgi.report.views.disagreement import Disagreement
    from sgi.report.views.groups import GroupTable
    from sgi.report.views.labelled import Labelled
    from sgi.report.views.lowest import WorstRows
    from sgi.report.views.run import RunView
    from sgi.report.views.run_header import RunHead
    from sgi.report.views.sample import SampleView
    from sgi.store.scored_runs import Reason

LONGEST = 300
"""Characters of a row's text; of a longer one it is said how long it is."""

_MEANS = ("mean", "95 % interval", "ok / n", "no value")


def run_markdown(view: RunView) -> str:
    """A run as Markdown, ending in a line break: all that the view holds, long texts cut.

    Args:
        view: of `sgi.report.views.run.run_view`.
    """
    parts: Iterator[str] = chain(
        _title(view.head),
        _headline(view),
        _figures(view),
        *(_groups(found) for found in view.groups),
        _correlation(view.correlation),
        _against_labels(view.labelled),
        _disagreement(view.disagreement),
        *(_worst(found, view.head) for found in view.worst),
        _reasons(view.reasons),
        _usage(view.usage),
        _origin(view.head),
    )
    return "\n\n".join(parts) + "\n"


def comparison_markdown(view: ComparisonView) -> str:
    """Two runs side by side as Markdown, ending in a line break.

    Args:
        view: of `sgi.report.views.comparison.comparison_view`.
    """
    parts: Iterator[str] = chain(
        [f"# {_text(view.base.label)} → {_text(view.new.label)}"],
        [_listed(_pairs(view))],
        _differences(view),
        _yes_or_no(view),
        _lacking(view),
        _changed(view),
        _remarks(view.notes),
        ["## Provenance", _listed(_signatures(view))],
    )
    return "\n\n".join(parts) + "\n"


def _title(head: RunHead) -> Iterator[str]:
    yield f"# {_text(head.label)}"
    rows = f"{head.rows:,}" if head.scored == head.rows else f"{head.scored:,} of {head.rows:,}"
    facts = {"run": code(head.id), "data": _text(head.data), "rows": rows}
    if head.rejected:
        facts["rejected"] = f"{head.rejected:,} rows that could not be parsed"
    facts["state"] = head.state + (f": {_text(head.stopped)}" if head.stopped else "")
    facts["started"] = wording.moment(head.created_at)
    if head.finished_at:
        facts["finished"] = wording.moment(head.finished_at)
    if head.tags:
        facts["tags"] = ", ".join(map(_text, head.tags))
    yield _listed(f"{name}: {told}" for name, told in facts.items())


def _headline(view: RunView) -> Iterator[str]:
    told = view.headline
    yield "## Summary"
    if told.metrics:
        yield _table(
            ("metric", *_MEANS), [[made.metric, *_means(made, view.head.rows)] for made in told.metrics]
        )
    else:
        yield "No rows are scored yet."
    yield from _classes(told.metrics)
    ranked = [(made.metric, made.ranking) for made in told.metrics if made.ranking is not None]
    ranked += [(wording.baseline_name(found), found.ranking) for found in told.baselines]
    if ranked:
        columns = ("ranks label 1 over 0", "AUROC", "95 % interval", "1 / 0")
        yield _table(columns, [[name, *wording.ranks_of(found)] for name, found in ranked])
    yield from _remarks(wording.notes(told))


def _means(made: MetricSummary, rows: int) -> list[str]:
    """A metric's cells under ``_MEANS``; coverage is over all rows of the data."""
    counted = f"{made.ok:,} / {rows:,}"
    return [wording.mean_of(made), wording.interval_of(made), counted, wording.gaps_of(made, rows)]


def _classes(metrics: Iterable[MetricSummary]) -> Iterator[str]:
    told = [f"{_text(made.metric)}: {_text(wording.classes_of(made))}" for made in metrics if made.classes]
    if told:
        yield _listed(told)


def _figures(view: RunView) -> Iterator[str]:
    """What the figures of the run show, in words."""
    told = [description_of(part) for part in view.distributions]
    if view.plane is not None:
        told.append(description_of(view.plane))
    if view.scatter is not None:
        told.append(description_of_scatter(view.scatter))
    if told:
        yield "## Distributions"
        yield _listed(map(_text, told))


def _groups(part: GroupTable) -> Iterator[str]:
    yield f"## By {_text(part.by)}"
    rows = [
        [
            *(("", "") if place else (group.name, f"{group.rows:,}")),
            made.metric,
            wording.mean_of(made),
            wording.end_of(made.best, made),
            wording.end_of(made.worst, made),
            *_means(made, group.rows)[1:],
        ]
        for group in part.groups
        for place, made in enumerate(group.metrics)
    ]
    columns = ("rows", "metric", _MEANS[0], "best", "worst", *_MEANS[1:])
    yield _table((part.by, *columns), rows, left=("metric",))
    for found in class_tables(part.groups):
        counts = (
            [group, *(wording.class_of(made, name) for name in found.classes)]
            for group, made in found.groups.items()
        )
        yield _table((f"{found.metric} by {part.by}", *found.classes), counts)


def _correlation(part: Correlation | None) -> Iterator[str]:
    if part is None:
        return
    yield "## Rank correlation of metrics"
    rows = (
        [name, *(wording.NOTHING if value is None else f"{value:.2f}" for value in line)]
        for name, line in zip(part.metrics, part.spearman, strict=True)
    )
    yield _table(("Spearman's ρ", *part.metrics), rows)


def _against_labels(part: Iterable[Labelled]) -> Iterator[str]:
    rows = [
        [
            made.metric,
            *map(_three, (made.auroc, made.ece, made.brier, made.base_rate_brier)),
            f"{made.rows:,}",
        ]
        for made in part
    ]
    if rows:
        yield "## Metrics against labels"
        yield _table(
            ("metric", "AUROC", "calibration error", "Brier", "Brier score of the base rate", "rows"), rows
        )
        yield (
            "The calibration error (ECE) and the Brier score use probabilities from Platt scaling, fitted"
            " out of fold. A useful metric has a lower Brier score than the base rate."
        )


def _three(value: float | None) -> str:
    return wording.NOTHING if value is None else f"{value:.3f}"


def _disagreement(part: Disagreement | None) -> Iterator[str]:
    if part is None or not part.rows:
        return
    yield f"## Disagreements between {_text(part.semantic)} and {_text(part.lexical)}"
    yield "Rank difference: rank by the first metric minus rank by the second, as a share of the rows."
    yield "\n".join(
        _row(
            found.sample,
            f"rank difference {found.gap:+.2f}: {number(found.semantic)} and {number(found.lexical)}",
        )
        for found in part.rows
    )


def _worst(part: WorstRows, head: RunHead) -> Iterator[str]:
    if not part.samples:
        return
    side = "lowest" if part.higher_is_better else "highest"
    yield f"## Rows with the {side} {_text(part.metric)}"
    yield "\n".join(
        line
        for sample in part.samples
        for line in (_row(sample, _value(sample, part.metric, head)), *_evidence(sample, part.metric))
    )


def _evidence(sample: SampleView, metric: str) -> Iterator[str]:
    """The evidence map of a value, where it has one."""
    score = sample.scores.get(metric)
    found = None if score is None else support(sample, score)
    if found is not None:
        yield from support_markdown(found, longest=LONGEST)


def _value(sample: SampleView, metric: str, head: RunHead) -> str:
    found = sample.scores.get(metric)
    return scaled(None if found is None else found.value, metric in head.shares)


def _row(sample: SampleView, told: str) -> str:
    """A row as an item of a list, its texts below."""
    label = "" if sample.label is None else f", label {int(sample.label)}"
    texts = {"question": sample.question, "response": sample.response, "reference": sample.reference or ""}
    texts |= {f"passage {place}": text for place, text in enumerate(sample.contexts, 1)}
    texts |= {"no response": sample.reason}
    lines = [f"- {code(plain(sample.id))}: {told}{label}"]
    lines += [f"  - {name}: {cut(text)}" for name, text in texts.items() if text]
    return "\n".join(lines)


def cut(text: str) -> str:
    r"""A text as Markdown shows it, its beginning where it is long, and then how long it is.

    >>> cut("a *b*"), cut("x" * 400)[-30:]
    ('a \\*b\\*', 'xxxx … (300 of 400 characters)')
    """
    if len(text) <= LONGEST:
        return _text(text)
    return f"{_text(text[:LONGEST])} … ({LONGEST} of {len(text):,} characters)"


def _reasons(found: Iterable[Reason]) -> Iterator[str]:
    rows = [[f"{why.rows:,}", why.status, why.metric, _beginning(why.reason)] for why in found]
    if rows:
        yield "## Rows without a value"
        yield _table(("rows", "status", "metric", "reason"), rows, left=("status", "metric", "reason"))


def _beginning(text: str) -> str:
    return plain(
        text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({LONGEST} of {len(text):,} characters)"
    )


def _usage(usage: Mapping[str, Usage]) -> Iterator[str]:
    if not usage:
        return
    yield "## Judge usage"
    columns = (
        "judge",
        "calls",
        "from cache",
        "retries",
        "no answer",
        "tokens in",
        "tokens out",
        "US dollars",
    )
    rows = [
        [
            judge,
            *(
                f"{n:,}"
                for n in (
                    used.calls,
                    used.cached,
                    used.retries,
                    used.unanswered,
                    used.input_tokens,
                    used.output_tokens,
                )
            ),
            "not known" if used.cost is None else f"{used.cost:.4f}",
        ]
        for judge, used in usage.items()
    ]
    yield _table(columns, rows)


def _origin(head: RunHead) -> Iterator[str]:
    yield "## Provenance"
    yield code(plain(head.signature))
    if head.versions:
        yield ", ".join(f"{_text(name)} {_text(version)}" for name, version in head.versions.items())


def _pairs(view: ComparisonView) -> Iterator[str]:
    made = view.comparison
    yield f"base: {_text(view.base.label)} ({code(view.base.id)}), data {_text(view.base.data)}"
    yield f"new: {_text(view.new.label)} ({code(view.new.id)}), data {_text(view.new.data)}"
    yield f"{made.pairs:,} pairs of rows; {made.only_base:,} only in base and {made.only_new:,} only in new"
    for name, metrics in (("base", made.only_base_metrics), ("new", made.only_new_metrics)):
        if metrics:
            yield f"metrics only in {name}: {', '.join(map(_text, metrics))}"


def _differences(view: ComparisonView) -> Iterator[str]:
    columns = ("base", "new", "new − base", "95 % interval", "p (Holm)", "detectable", "pairs", "verdict")
    rows = []
    for made in view.comparison.metrics:
        found, share = made.difference, made.metric in view.shares
        numbers = [scaled(found.first, share), scaled(found.second, share)]
        numbers += [scaled(found.difference, share, unit="pp", sign="+"), span(found.interval, share)]
        numbers += [probability(made.adjusted_p), scaled(found.smallest, share, unit="pp")]
        rows.append([made.metric, *numbers, f"{found.pairs:,}", made.verdict])
    yield "## Differences"
    yield _table(("metric", *columns), rows, left=("verdict",)) if rows else "No metric can be compared."


def _yes_or_no(view: ComparisonView) -> Iterator[str]:
    rows = [
        [made.metric, f"{test.lost:,}", f"{test.gained:,}", probability(test.p), test.method]
        for made in view.comparison.metrics
        if (test := made.mcnemar) is not None
    ]
    if rows:
        yield _table(("binary metric", "1 → 0", "0 → 1", "p", "McNemar's test"), rows)


def _lacking(view: ComparisonView) -> Iterator[str]:
    rows = [
        [made.metric, found.base, found.new, f"{found.pairs:,}"]
        for made in view.comparison.metrics
        for found in made.lacking
    ]
    if rows:
        yield _table(("missing values", "base", "new", "pairs"), rows, left=("base", "new"))


def _changed(view: ComparisonView) -> Iterator[str]:
    if not view.changed:
        return
    yield "## Rows that changed most"
    items = []
    for row in view.changed:
        share = row.metric in view.shares
        change = scaled(row.difference, share, unit="pp", sign="+")
        texts = {"question": row.after.question, "before": row.before.response, "after": row.after.response}
        lines = [f"- {code(plain(row.after.id))}: {_text(row.metric)} {change}"]
        items += [*lines, *(f"  - {name}: {cut(text)}" for name, text in texts.items() if text)]
    yield "\n".join(items)


def _signatures(view: ComparisonView) -> Iterator[str]:
    made = view.comparison
    yield f"base: {code(plain(made.base_signature))}"
    if made.new_signature != made.base_signature:
        yield f"new: {code(plain(made.new_signature))}"


def _remarks(notes: Iterable[str]) -> Iterator[str]:
    told = list(map(_text, notes))
    if told:
        yield _listed(told)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _text(text: str) -> str:
    return escaped(plain(text))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[str] = ()) -> str:
    return markdown_table(list(map(plain, columns)), [list(map(plain, row)) for row in rows], left=left)
