"""The base class of settings; its errors are for users who write settings."""

from __future__ import annotations

import difflib
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.json_shapes import first_problem


class Settings(BaseModel):
    """Frozen settings; invalid values raise a UsageError without the value, which may be secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    owner: ClassVar[str]
    """The name of the thing with these settings in messages, such as ``judge``."""

    def check_combination(self) -> None:
        """Raise a UsageError if valid settings contradict each other."""

    @model_validator(mode="wrap")
    @classmethod
    def _convert_errors(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            settings = handler(values)
        except ValidationError as errors:
            error = _usage_error(errors, cls)
        else:
            settings.check_combination()
            return settings
        raise error


def _usage_error(errors: ValidationError, settings: type[Settings]) -> UsageError:
    owner, fields = settings.owner, settings.model_fields
    first = errors.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "extra_forbidden":
        name = ".".join(map(str, first["loc"]))
        near = tuple(difflib.get_close_matches(name, fields, n=2))
        return UnknownNameError(f"setting of a {owner}", name, near, hint=f"It has: {', '.join(fields)}.")
    link = "'s " if first["loc"] else ": "
    return UsageError(f"The {owner}{link}{first_problem(errors)}.")
