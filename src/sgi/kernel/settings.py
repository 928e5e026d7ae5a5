"""What is wrong with settings, in words for those who wrote them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from sgi.kernel.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydantic import ValidationError


def refusal(errors: ValidationError, what: str, fields: Collection[str]) -> UsageError:
    """The first thing that pydantic found wrong, as an error of ours that shows no value: it may be secret.

    Args:
        errors: what it found.
        what: whose settings they are: ``judge``.
        fields: the settings there are.

    Returns:
        An `UnknownNameError` for a setting there isn't, with those that come near.

    >>> from pydantic import TypeAdapter, ValidationError
    >>> try:
    ...     TypeAdapter(dict[str, int]).validate_python({"size": "big"})
    ... except ValidationError as errors:
    ...     print(refusal(errors, "box", ("size",)))
    The box's size: input should be a valid integer, unable to parse string as an integer.
    """
    first = errors.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        near = tuple(difflib.get_close_matches(place, fields, n=2))
        return UnknownNameError(f"setting of a {what}", place, near, hint=f"It has: {', '.join(fields)}.")
    problem = first["msg"].removeprefix("Value error, ")
    where = f"The {what}'s {place}" if place else f"The {what}"
    return UsageError(f"{where}: {problem[:1].lower()}{problem[1:]}.")
