"""Commands whose options are the fields of dataclasses."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def with_option_fields(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each dataclass parameter of a command by one parameter for each of its fields."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    groups = {
        part.name: part.annotation
        for part in own
        if isinstance(part.annotation, type) and is_dataclass(part.annotation)
    }

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            names = {field.name for field in fields(group)} & values.keys()
            values[name] = group(**{each: values.pop(each) for each in names})
        command(**values)

    parameters = [single for part in own for single in _parameters(part)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    return run


def _parameters(part: inspect.Parameter) -> Iterator[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    if not is_dataclass(part.annotation):
        yield part.replace(kind=keyword)
        return
    kinds = get_type_hints(part.annotation, include_extras=True)
    for field in fields(part.annotation):
        yield inspect.Parameter(field.name, keyword, default=field.default, annotation=kinds[field.name])
