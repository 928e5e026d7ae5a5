"""Serialise worker errors as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel import errors

if TYPE_CHECKING:
    from collections.abc import Mapping


def encode_error(error: errors.SgiError) -> dict[str, Any]:
    """Encode an error as JSON values."""
    return {"kind": type(error).__name__, "words": list(error.args), "facts": dict(vars(error))}


def decode_error(values: Mapping[str, Any]) -> errors.SgiError:
    """Decode an error from `encode_error`."""
    kind = getattr(errors, values["kind"], errors.SgiError)
    error: errors.SgiError = kind.__new__(kind, *values["words"])
    vars(error).update(values["facts"])
    return error
