"""A page for each metric: definition, facts, cost, example, limits and source."""

from __future__ import annotations

import inspect
import json
import math
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reference_pages.examples import as_python, example, without_value
from reference_pages.markdown import block, code, page, prose, table, text
from reference_pages.metric_details import details_list

from sgi.cli.metrics_command import _group
from sgi.kernel.details import first_line
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import BUILT_IN, metric, metric_class

if TYPE_CHECKING:
    from dataclasses import Field

    from reference_pages.examples import Example

    from sgi.kernel.metric import AnyMetric, MetricSpec

_BENCH = Path(__file__).parents[2] / "docs" / "internals" / "errors-by-metric.md"
_MAX_LINES = 30


def metric_pages() -> dict[str, str]:
    """Return the page of each metric and their index, by path."""
    kinds = {name: metric_class(name) for name in BUILT_IN}
    bench = _bench()
    pages = {f"metrics/{name}.md": _page(kind, bench.get(name, "")) for name, kind in kinds.items()}
    return pages | {"metrics/index.md": _index(kinds)}


def _bench() -> dict[str, str]:
    """Return the summary of the test bench for each metric that it has."""
    return dict(re.findall(r"^- (\w+): (.+)$", _BENCH.read_text(encoding="utf-8"), re.MULTILINE))


def _index(kinds: dict[str, type[AnyMetric]]) -> str:
    groups: dict[tuple[int, str], list[str]] = {}
    for name, kind in kinds.items():
        groups.setdefault(_group(kind), []).append(name)
    parts = []
    for group in sorted(groups):
        items = [f"* [`{name}`]({name}.md) {text(first_line(kinds[name]))}" for name in groups[group]]
        title = (
            group[1]
            .replace("Offline: ", "Without a judge: needs ")
            .replace("Judge: ", "With a judge: needs ")
        )
        parts.append(f"## {title}\n\n" + "\n".join(items))
    head = (
        "Each metric has a page with its formula, range, needs, direction, cost, an example with its output, "
        "limits and source. [Which metric do I need?](../../which-metric.md) helps you to choose one. "
        "The groups are by what a metric needs."
    )
    return page("Metrics", head, *parts)


def _page(kind: type[AnyMetric], bench: str) -> str:
    chosen = metric(kind.example or kind.spec.name)
    shown = example(chosen)
    details = details_list(kind)
    return page(
        f"`{kind.spec.name}`",
        prose(inspect.getdoc(kind) or "", without=frozenset({"Raises", "Source"})),
        f"## Facts\n\n{_facts(kind)}",
        f"## Cost\n\n{_cost(chosen, shown)}",
        f"## Example\n\n{_example(chosen, shown)}",
        f"## Details of a row\n\n{details}" if details else "",
        f"## Limits\n\n{_limits(chosen, bench)}",
        f"## Source\n\n{text(kind.spec.citation)}",
    )


def _facts(kind: type[AnyMetric]) -> str:
    spec = kind.spec
    parameters = ", ".join(_parameter(field) for field in fields(cast("Any", kind)))
    rows = [
        ("needs", ", ".join(map(code, sorted(spec.needs))) or "the fields of its parts"),
        ("range", _range(spec)),
        ("direction", "higher is better" if spec.higher_is_better else "lower is better"),
        ("parameters", parameters or "none"),
        ("class in Python", f"`sgi.metrics.{kind.__name__}`"),
        ("version of the definition", str(spec.version)),
    ]
    return table(["fact", "value"], rows)


def _range(spec: MetricSpec) -> str:
    low, high = ("∞" if math.isinf(bound) else f"{bound:.4g}" for bound in (spec.low, spec.high))
    return f"{low} to {high} {spec.unit}".rstrip()


def _parameter(field: Field[Any]) -> str:
    return (
        code(field.name) + " (required)"
        if field.default is MISSING
        else code(f"{field.name}={field.default!r}")
    )


def _cost(chosen: AnyMetric, shown: Example) -> str:
    parts = []
    if isinstance(chosen, JudgedMetric):
        count = len(shown.replies)
        parts.append(f"A judge: {count} {'request' if count == 1 else 'requests'} for the row below.")
    if chosen.vector_needs is not None:
        parts.append("An embedding model, for each distinct text once. Vectors are cached.")
    if chosen.token_needs is not None:
        parts.append("A model for token vectors, for each distinct text once.")
    return " ".join(parts) or "No model and no judge: arithmetic on the fields of the row."


def _example(chosen: AnyMetric, shown: Example) -> str:
    judged = isinstance(chosen, JudgedMetric)
    name = chosen.canonical.replace("\\", "\\\\").replace("'", "\\'")
    quoted = f"'{name}'" if '"' in name else f'"{name}"'
    lines = [
        "import sgi",
        "",
        as_python(shown.row),
        f"metric = {quoted}",
        f"score = sgi.evaluate([row], metric{', judge=judge' if judged else ''})[metric].row(0)",
        "print(score.value, score.status)",
    ]
    score = shown.score
    value = "None" if score.value is None else f"{score.value:.4g}"
    output = [f"{value} {score.status}", *([score.reason] if score.reason else [])]
    parts = [block("\n".join(lines), "python"), block("\n".join(output))]
    if judged:
        replies = "\n".join(
            f"{name}: {json.dumps(reply, ensure_ascii=False)}" for name, reply in shown.replies
        )
        parts.append(
            "The judge of this example is `sgi.testing.ScriptedJudge`, so that the page needs no service. "
            f"It replied:\n\n{block(_wrapped(replies))}"
        )
    if score.details:
        parts.append(f"`score.details`:\n\n{block(_json(dict(score.details)), 'text')}")
    return "\n\n".join(parts)


def _wrapped(words: str) -> str:
    return words.replace("}, {", "},\n    {")


def _json(details: dict[str, Any]) -> str:
    rounded = json.loads(json.dumps(details), parse_float=lambda number: float(f"{float(number):.4g}"))
    lines = json.dumps(rounded, indent=2, ensure_ascii=False).splitlines()
    return "\n".join(lines if len(lines) <= _MAX_LINES else [*lines[:_MAX_LINES], f"… ({len(lines)} lines)"])


def _limits(chosen: AnyMetric, bench: str) -> str:
    parts = []
    if rows := without_value(chosen):
        head = "The row of the example has no value if one of these fields is blank:"
        listed = [(code(name), code(status), text(reason)) for name, status, reason in rows]
        parts.append(f"{head}\n\n{table(['blank field', 'status', 'reason'], listed)}")
    if bench:
        link = "[Which errors does a metric detect?](../../which-metric.md#which-errors-does-a-metric-detect)"
        parts.append(f"In a test with planted errors, this metric {text(bench)} {link} explains the test.")
    if isinstance(chosen, JudgedMetric):
        parts.append(
            "The value depends on the judge. [Compare it with people](../../labels.md) before you use it."
        )
    parts.append("A row that lacks a needed field has the status `missing`.")
    return "\n\n".join(parts)
