"""``sgi metrics``: what can be scored, and what each score means."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sgi.cli.options import JsonOption

if TYPE_CHECKING:
    from sgi.kernel.metric import AnyMetric


def metrics(
    name: Annotated[str | None, typer.Argument(help="One metric, with its full page.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the metrics, or print one metric's page.

    Examples:

      sgi metrics

      sgi metrics sgi
    """
    from sgi.cli.console import complain, plain, print_json
    from sgi.kernel.registry import metric_class, metric_classes

    if name is not None:
        kind = metric_class(name)
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
    width = max(len(kind.spec.name) for kind in kinds)
    for kind in kinds:
        typer.echo(plain(f"{kind.spec.name:<{width}}  {_first_line(kind)}"))


def _facts(kind: type[AnyMetric]) -> dict[str, Any]:
    spec = kind.spec
    return {
        "name": spec.name,
        "summary": _first_line(kind),
        "needs": sorted(spec.needs),
        "range": [_finite(spec.low), _finite(spec.high)],
        "higher_is_better": spec.higher_is_better,
        "unit": spec.unit,
        "version": spec.version,
        "parameters": {field.name: field.default for field in fields(cast("Any", kind))},
        "citation": spec.citation,
    }


def _print_page(kind: type[AnyMetric]) -> None:
    from sgi.cli.console import plain

    facts = _facts(kind)
    low, high = ("∞" if bound is None else f"{bound:g}" for bound in facts["range"])
    lines = [
        facts["name"],
        "",
        inspect.getdoc(kind) or "",
        "",
        f"Needs       {', '.join(facts['needs']) or 'the fields of any of its parts'}",
        f"Range       {low} to {high} {facts['unit']}".rstrip(),
        f"Better      {'higher' if facts['higher_is_better'] else 'lower'}",
        f"Parameters  {', '.join(f'{k}={v!r}' for k, v in facts['parameters'].items()) or 'none'}",
        f"Version     {facts['version']}",
        f"Source      {facts['citation']}",
    ]
    typer.echo(plain("\n".join(lines)))


def _first_line(kind: type[AnyMetric]) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None
