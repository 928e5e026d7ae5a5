"""``sgi metrics``: lists the metrics, or explains one."""

from __future__ import annotations

import math
from dataclasses import fields
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sgi.cli import options
from sgi.cli.console import complain, plain, print_json, print_tables
from sgi.cli.plain_docstring import plain_docstring
from sgi.kernel.details import first_line
from sgi.kernel.registry import metric_class, metric_classes, metric_name
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.metric import AnyMetric
    from sgi.metrics.definitions import DefinedMetric


_GRAPHRAG_NAMES = "sgi.metrics.graphrag_names"


def metrics(
    name: Annotated[str | None, typer.Argument(help="Show the full page of this metric.")] = None,
    define: Annotated[
        Path | None, typer.Option("--define", help="TOML file that defines metrics; list or show these.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the metrics by what they need, or show one metric.

    Examples:
      sgi metrics
      sgi metrics sgi
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
            rows = [(one.name, one.definition.description or one.formula) for one in chosen]
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
    classes, broken = metric_classes()
    for error in broken.values():
        complain(error)
    kinds = list(classes.values())
    if as_json:
        print_json([_facts(kind) for kind in kinds])
        return
    print_tables(_tables(kinds))


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
        f"Stands for  {metric.formula}",
        f"Needs       {', '.join(sorted(metric.spec.needs)) or 'the fields of any of its parts'}",
        f"Range       {low} to {high} {metric.spec.unit}".rstrip(),
        f"Better      {'higher' if metric.spec.higher_is_better else 'lower'}",
        f"Stored as   {metric.canonical}",
        f"Explained   sgi metrics {metric.metric.spec.name}",
    ]
    typer.echo(plain("\n".join(lines)))


def _tables(kinds: Iterable[type[AnyMetric]]) -> list[Table]:
    """Return one table per group of metrics."""
    groups: dict[tuple[int, str], list[type[AnyMetric]]] = {}
    for kind in kinds:
        groups.setdefault(_group(kind), []).append(kind)
    tables = []
    for group in sorted(groups):
        rows = [(kind.spec.name, first_line(kind)) for kind in groups[group]]
        tables.append(Table((group[1], ""), rows, left=[""]))
    return tables


def _group(kind: type[AnyMetric]) -> tuple[int, str]:
    """Return the position and the title of the group of a metric, chosen by the fields that it needs."""
    from sgi.kernel.judged_metric import JudgedMetric
    from sgi.kernel.sample import Field

    if kind.__module__ == _GRAPHRAG_NAMES:
        return 4, "GraphRAG names (percent and counts)"
    if not kind.spec.needs:
        return 3, "Combines other metrics"
    fields = ", ".join(str(field) for field in Field if field in kind.spec.needs)
    if issubclass(kind, JudgedMetric):
        return 2, f"Judge: {fields}"
    return 1, f"Offline: {fields}"


def _facts(kind: type[AnyMetric]) -> dict[str, Any]:
    spec, required = kind.spec, kind.required_parameters()
    return {
        "name": spec.name,
        "summary": first_line(kind),
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
        facts["name"],
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


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None
