"""The table of the metrics, and the page with definition, facts, example and source of each."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, cast

from reference_pages.examples import as_python, example
from reference_pages.markdown import block, code, page, prose, table, text
from reference_pages.metric_details import details_list

from sgi.cli.metrics_command import by_question
from sgi.kernel.details import first_line
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import BUILT_IN, metric, metric_class

if TYPE_CHECKING:
    from dataclasses import Field

    from reference_pages.examples import Example

    from sgi.kernel.metric import AnyMetric, MetricSpec

_HEAD = (
    "Every metric of SGI, by the question that it answers. The name of a metric leads to its formula, an "
    "example with its output, and its source. [Which metric do I need?](../which-metric.md) helps you choose."
)
_DETAILS = (
    "The formula, needs, cost, an example with its output, and the source of each metric; "
    "`sgi metrics NAME` prints them too. In the examples of judged metrics, `judge` is "
    "`sgi.testing.ScriptedJudge`, so that they need no service. A row that lacks a needed field has the "
    "status `missing`. [Compare a judged metric with people](../labels.md) before you rely on it."
)


def metric_pages() -> dict[str, str]:
    """Return the table of all metrics, and the page with the details of each, by path."""
    groups = by_question(map(metric_class, BUILT_IN))
    kinds = [kind for group in groups.values() for kind in group]
    return {
        "metrics.md": page("Metrics", _HEAD, *(_table(title, group) for title, group in groups.items())),
        "metric-details.md": page("Details of each metric", _DETAILS, *map(_section, kinds)),
    }


def _table(title: str, kinds: list[type[AnyMetric]]) -> str:
    rows = [
        (
            f"[`{kind.spec.name}`](metric-details.md#{kind.spec.name})",
            text(first_line(kind)),
            _range(kind.spec),
            "higher" if kind.spec.higher_is_better else "lower",
        )
        for kind in kinds
    ]
    return f"## {title}\n\n{table(['metric', 'what it measures', 'range', 'better'], rows)}"


def _section(kind: type[AnyMetric]) -> str:
    chosen = metric(kind.example or kind.spec.name)
    shown = example(chosen)
    details = details_list(kind)
    parts = [
        f"## {kind.spec.name}",
        prose(inspect.getdoc(kind) or "", without=frozenset({"Raises", "Source"})),
        _facts(kind, _cost(chosen, shown)),
        _example(chosen, shown),
        f"`score.details` of a row:\n\n{details}" if details else "",
        f"Source: {text(kind.spec.citation)}" if kind.spec.citation else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _facts(kind: type[AnyMetric], cost: str) -> str:
    spec = kind.spec
    parameters = ", ".join(_parameter(field) for field in fields(cast("Any", kind)))
    facts = {
        "Needs": ", ".join(map(code, sorted(spec.needs))) or "the fields of its parts",
        "Range": _range(spec),
        "Better": "higher" if spec.higher_is_better else "lower",
        "Parameters": parameters,
        "Cost": cost,
        "In Python": f"`sgi.metrics.{kind.__name__}`, version {spec.version} of the definition",
    }
    return "\n".join(f"* {name}: {words}" for name, words in facts.items() if words)


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
        parts.append(f"a judge, {count} {'request' if count == 1 else 'requests'} for the row below")
    if chosen.vector_needs is not None:
        parts.append("an embedding model, for each distinct text once")
    if chosen.token_needs is not None:
        parts.append("a model for token vectors, for each distinct text once")
    return "; ".join(parts) or "arithmetic on the fields of the row: no model and no judge"


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
        parts.append(f"The judge of this example replied:\n\n{block(_wrapped(replies))}")
    return "\n\n".join(parts)


def _wrapped(words: str) -> str:
    return words.replace("}, {", "},\n    {")
