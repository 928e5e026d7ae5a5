"""Types of the fields in a judge's replies; a value of another type, such as true for 1, is rejected."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict

_LONGEST_REASON = 4000
_LONGEST_STATEMENT = 2000


def whole(value: Any) -> Any:
    """Reject values that only equal a whole number, such as true and 1.0."""
    if type(value) is not int:
        raise ValueError("a whole number is required")
    return value


def _text(value: str, longest: int) -> str:
    """Collapse white space; reject blank and too long texts."""
    text = " ".join(value.split())
    if not text:
        raise ValueError("the text is blank")
    if len(text) > longest:
        raise ValueError(f"the text has {len(text)} characters, more than {longest}")
    return text


Binary = Annotated[Literal[0, 1], BeforeValidator(whole)]
"""0 for no, 1 for yes."""

Flag = Annotated[bool, Strict()]
"""True or false."""

Rating = Annotated[Literal[0, 1, 2, 3], BeforeValidator(whole)]
"""0 bad, 1 average, 2 good, 3 excellent."""

Quarters = Annotated[Literal[0, 1, 2, 3, 4], BeforeValidator(whole)]
"""A rating in quarters: 0 is none, 4 is all."""

Percentage = Annotated[int, Field(ge=0, le=100), BeforeValidator(whole)]
"""A whole number from 0 to 100."""

Reason = Annotated[str, AfterValidator(lambda value: _text(value, _LONGEST_REASON))]
"""A reason; its field comes before the verdict, so that the judge thinks first."""

Statement = Annotated[str, AfterValidator(lambda value: _text(value, _LONGEST_STATEMENT))]
"""A sentence: a claim, or a question."""
