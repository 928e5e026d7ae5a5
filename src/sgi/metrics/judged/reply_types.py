"""Types of the fields in a judge's replies, and parts of texts that are too long for one request.

A value of another type, such as true for 1, is rejected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict

from sgi.kernel.prompts import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.kernel.sample import Sample

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


# Where to split a text, from the best boundary to the worst.
_BOUNDARIES = (
    re.compile(r"\n\s*\n"),
    re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]+\s*|\n"),
    re.compile(r"\s+"),
)
_BYTES_A_TOKEN = 4
_CONTINUATION = 0b10
MOST_ENTRIES = 50
"""Maximum number of verdicts in one request; replies with more verdicts are less careful."""


@dataclass(frozen=True)
class Portion:
    """The passages of one request, or pieces of passages, each with the number of its passage, from 1."""

    numbers: tuple[int, ...]
    texts: tuple[str, ...]


def portions(passages: Sequence[str], budget: int, *, most: int | None = None) -> tuple[Portion, ...]:
    """Divide the passages into portions, in order; leave out blank passages and split long passages.

    Args:
        passages: the passages in retrieval order.
        budget: maximum number of tokens of a portion, as `estimated_tokens` counts them.
        most: maximum number of texts of a portion; None for no limit.

    >>> portions(["One two three.", "", "Four."], budget=4)
    (Portion(numbers=(1,), texts=('One two three.',)), Portion(numbers=(3,), texts=('Four.',)))
    """
    filled: list[list[tuple[int, str]]] = []
    left = 0
    for number, passage in enumerate(passages, 1):
        for piece in pieces(passage, budget):
            tokens = estimated_tokens(piece)
            if not filled or tokens > left or len(filled[-1]) == most:
                filled.append([])
                left = max(1, budget)
            filled[-1].append((number, piece))
            left -= tokens
    return tuple(Portion(tuple(n for n, _ in part), tuple(text for _, text in part)) for part in filled)


def pieces(text: str, budget: int) -> tuple[str, ...]:
    """Split the whole text into pieces of at most ``budget`` tokens; a blank text has none.

    A piece ends at the best boundary in the second half of its size: the end of a paragraph, otherwise of a
    sentence, otherwise a space. If there is no boundary, it has the full size.

    >>> pieces("One two. Three four.", budget=3)
    ('One two. ', 'Three four.')
    """
    if not text.strip():
        return ()
    return tuple(_split(text, max(1, budget) * _BYTES_A_TOKEN))


def _split(text: str, size: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        window = _window(text, start, size)
        end = start + (len(window) if start + len(window) == len(text) else _last_boundary(window))
        yield text[start:end]
        start = end


def _window(text: str, start: int, size: int) -> str:
    """Return as many whole characters as fit into ``size`` bytes of UTF-8."""
    coded = text[start : start + size].encode("utf-8", "surrogatepass")
    end = min(size, len(coded))
    while end < len(coded) and coded[end] >> 6 == _CONTINUATION:
        end -= 1
    return coded[:end].decode("utf-8", "surrogatepass")


def _last_boundary(window: str) -> int:
    half = len(window) // 2
    for pattern in _BOUNDARIES:
        ends = [match.end() for match in pattern.finditer(window, half)]
        if ends:
            return ends[-1]
    return len(window)


def question_section(sample: Sample) -> dict[str, str]:
    """Return the question as a section of a request; empty if the question is blank."""
    return {"question": sample.question} if sample.question.strip() else {}


def reference_section(sample: Sample) -> dict[str, tuple[str, ...]]:
    """Return the accepted answers that are not blank as a section of a request; empty if all are blank."""
    accepted = tuple(text for text in sample.references if text.strip())
    return {"accepted_answers": accepted} if accepted else {}
