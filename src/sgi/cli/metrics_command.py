"""``sgi metrics``: lists the metrics, or explains one."""

from __future__ import annotations

import math
import textwrap
from dataclasses import fields
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sgi.cli import options
from sgi.cli.console import complain, plain, print_json, print_tables
from sgi.cli.plain_docstring import plain_docstring
from sgi.kernel.details import first_line
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import Question
from sgi.kernel.registry import DEFAULTS, FEATURED, metric_class, metric_classes, metric_name
from sgi.kernel.registry import metric as parse_metric
from sgi.kernel.sample import Field
from sgi.reporting.safe_text import escaped_json
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.metric import AnyMetric
    from sgi.metrics.definitions import DefinedMetric


_GRAPHRAG_NAMES = "sgi.metrics.graphrag_names"
_GRAPHRAG_TITLE = "GraphRAG names (percent and counts)"
_MEASURED = "(measured on 250 rows with one short passage, 2 cores)"
_WIDTH = 80


def metrics(
    name: Annotated[str | None, typer.Argument(help="Explain this metric.")] = None,
    every: Annotated[bool, typer.Option("--all", help="List all metrics, not only the usual ones.")] = False,
    define: Annotated[
        Path | None, typer.Option("--define", help="TOML file that defines metrics; list or show these.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the usual metrics by the question that they answer, or explain one metric.

    With ``--json``, all metrics are listed.

    Examples:
      sgi metrics
      sgi metrics --all
      sgi metrics grounding
      sgi metrics recall@5
      sgi metrics --define metrics.toml
      sgi metrics quality --define metrics.toml
    """
    defined = {} if define is None else _read_defined(define)
    if define is not None and (name is None or name in defined):
        chosen = [*defined.values()] if name is None else [defined[name]]
        if as_json:
            print_json([_defined_facts(one) for one in chosen])
        elif name is None:
            rows = [(one.name, one.definition.description or escaped_json(one.formula)) for one in chosen]
            print_tables([Table((f"Defined in {define}", ""), rows, left=[""])])
        else:
            _print_defined(chosen[0])
        return
    if name is not None:
        kind = metric_class(metric_name(name))
        if as_json:
            print_json(_facts(kind))
        else:
            _print_page(kind)
        return
    if every or as_json:
        classes, broken = metric_classes()
        for error in broken.values():
            complain(error)
        kinds = list(classes.values())
    else:
        kinds = [metric_class(name) for name in FEATURED]
    if as_json:
        print_json([_facts(kind) for kind in kinds])
        return
    print_tables(_tables(kinds))
    typer.echo(f"* default: {', '.join(DEFAULTS)}, as far as your data has the fields")
    typer.echo("One metric: sgi metrics NAME" + ("" if every else ". All metrics: sgi metrics --all"))


def _read_defined(path: Path) -> dict[str, DefinedMetric]:
    from sgi.metrics.definitions import DefinedMetric, Definitions

    metrics = Definitions.of(path).metrics
    return {name: metric for name, metric in metrics.items() if isinstance(metric, DefinedMetric)}


def _defined_facts(metric: DefinedMetric) -> dict[str, Any]:
    spec = metric.spec
    return {
        "name": spec.name,
        "description": metric.definition.description,
        "formula": metric.formula,
        "canonical": metric.canonical,
        "needs": sorted(spec.needs),
        "range": [_finite(spec.low), _finite(spec.high)],
        "higher_is_better": spec.higher_is_better,
        "unit": spec.unit,
        "version": spec.version,
    }


def _print_defined(metric: DefinedMetric) -> None:
    low, high = (f"{bound:g}" for bound in (metric.spec.low, metric.spec.high))
    lines = [
        metric.name,
        "",
        *([metric.definition.description, ""] if metric.definition.description else []),
        f"Stands for  {escaped_json(metric.formula)}",
        f"Needs       {', '.join(sorted(metric.spec.needs)) or 'the fields of any of its parts'}",
        f"Range       {low} to {high} {metric.spec.unit}".rstrip(),
        f"Better      {'higher' if metric.spec.higher_is_better else 'lower'}",
        f"Stored as   {escaped_json(metric.canonical)}",
        f"Explained   sgi metrics {metric.metric.spec.name}",
    ]
    typer.echo(plain("\n".join(lines)))


def by_question(kinds: Iterable[type[AnyMetric]]) -> dict[str, list[type[AnyMetric]]]:
    """Group metrics by the question that they answer, in the order of `Question`; GraphRAG names are last."""
    groups: dict[str, list[type[AnyMetric]]] = {question: [] for question in (*Question, _GRAPHRAG_TITLE)}
    for kind in kinds:
        is_graphrag = kind.__module__ == _GRAPHRAG_NAMES
        groups[_GRAPHRAG_TITLE if is_graphrag else _question(kind)].append(kind)
    return groups


def _tables(kinds: Iterable[type[AnyMetric]]) -> list[Table]:
    return [
        Table((question, "needs", ""), map(_table_row, group), left=["needs", ""])
        for question, group in by_question(kinds).items()
    ]


def _table_row(kind: type[AnyMetric]) -> tuple[str, str, str]:
    mark = " *" if kind.spec.name in DEFAULTS else ""
    judge = "judge; " if issubclass(kind, JudgedMetric) else ""
    return f"{kind.spec.name}{mark}", f"{judge}{_fields(kind) or 'fields of its parts'}", first_line(kind)


def _fields(kind: type[AnyMetric]) -> str:
    return ", ".join(str(field) for field in Field if field in kind.spec.needs)


def _question(kind: type[AnyMetric]) -> Question:
    return Question.OTHER if kind.spec.guide is None else kind.spec.guide.question


def _cost(kind: type[AnyMetric]) -> str:
    """Return what a row costs: calls, or the time that was measured for metrics with such a model."""
    if not kind.spec.needs:
        return "The cost of its parts."
    costs = []
    if issubclass(kind, JudgedMetric):
        costs.append(
            "Calls of an LLM judge for each row, which can cost money. `sgi run DATA -m METRIC --judge JUDGE "
            "--dry-run` estimates them."
        )
    one = parse_metric(kind.example or kind.spec.name)
    if one.vector_needs is not None:
        costs.append(f"An embedding model on your CPU: about 5 to 60 ms for each row {_MEASURED}.")
    if one.token_needs is not None:
        costs.append(f"A token model on your CPU: about 10 to 20 ms for each row {_MEASURED}.")
    return " ".join(costs) or f"No model and no network: about 5 ms or less for each row {_MEASURED}."


def _facts(kind: type[AnyMetric]) -> dict[str, Any]:
    spec, required = kind.spec, kind.required_parameters()
    return {
        "name": spec.name,
        "summary": first_line(kind),
        "question": _question(kind),
        "default": spec.name in DEFAULTS,
        "reading": "" if spec.guide is None else spec.guide.reading,
        "limits": "" if spec.guide is None else spec.guide.limits,
        "cost": _cost(kind),
        "judged": issubclass(kind, JudgedMetric),
        "needs": sorted(spec.needs),
        "range": [_finite(spec.low), _finite(spec.high)],
        "higher_is_better": spec.higher_is_better,
        "unit": spec.unit,
        "version": spec.version,
        "parameters": {
            field.name: field.default for field in fields(cast("Any", kind)) if field.name not in required
        },
        "required": [*required],
        "example": kind.example or spec.name,
        "citation": spec.citation,
    }


def _print_page(kind: type[AnyMetric]) -> None:
    facts = _facts(kind)
    low, high = ("∞" if bound is None else f"{bound:g}" for bound in facts["range"])
    optional = [f"{name}={value!r}" for name, value in facts["parameters"].items()]
    parameters = [*(f"{name} (required)" for name in facts["required"]), *optional]
    lines = [
        f"{facts['name']} (default)" if facts["default"] else facts["name"],
        "",
        *_explained(facts),
        "",
        plain_docstring(getdoc(kind) or ""),
        "",
        f"Needs       {', '.join(facts['needs']) or 'the fields of any of its parts'}",
        f"Range       {low} to {high} {facts['unit']}".rstrip(),
        f"Better      {'higher' if facts['higher_is_better'] else 'lower'}",
        f"Parameters  {', '.join(parameters) or 'none'}",
        f"Example     {facts['example']}",
        f"Version     {facts['version']}",
        f"Source      {facts['citation']}",
    ]
    typer.echo(plain("\n".join(lines)))


def _explained(facts: dict[str, Any]) -> list[str]:
    """Return the help of a metric in plain words, with one wrapped entry for each of its questions."""
    entries = {
        "Question": facts["question"],
        "How to read": facts["reading"],
        "Cost": facts["cost"],
        "Limits": facts["limits"],
    }
    return [
        textwrap.fill(text, _WIDTH, initial_indent=f"{name:<13}", subsequent_indent=" " * 13)
        for name, text in entries.items()
        if text
    ]


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None
