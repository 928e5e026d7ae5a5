"""Errors that cross from a worker to the one who waits for it, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel import errors

if TYPE_CHECKING:
    from collections.abc import Mapping


def packed(error: errors.SgiError) -> dict[str, Any]:
    """An error as JSON values.

    >>> packed(errors.UsageError("No.", hint="Yes."))["kind"]
    'UsageError'
    """
    return {"kind": type(error).__name__, "words": list(error.args), "facts": dict(vars(error))}


def unpacked(values: Mapping[str, Any]) -> errors.SgiError:
    """The error that `packed` took apart.

    >>> str(unpacked(packed(errors.DataError("is empty", file="a.jsonl", line=3))))
    'a.jsonl:3: is empty'
    """
    kind = getattr(errors, values["kind"], errors.SgiError)
    error: errors.SgiError = kind.__new__(kind, *values["words"])
    vars(error).update(values["facts"])
    return error
