"""What of a sample a judge is shown at once: texts longer than it reads are shown in parts, never cut off."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.kernel.prompts import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.kernel.sample import Sample

# Where a text is best divided, from the best place to the worst.
_BOUNDARIES = (
    re.compile(r"\n\s*\n"),
    re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]+\s*|\n"),
    re.compile(r"\s+"),
)
_BYTES_A_TOKEN = 4
_CONTINUATION = 0b10
MOST_ENTRIES = 50
"""Entries of a list about which one inquiry asks for a verdict each; more make long, careless replies."""


@dataclass(frozen=True)
class Portion:
    """Passages for one inquiry.

    Attributes:
        numbers: the passage, counted from 1, that each text is or is a piece of.
        texts: what is shown.
    """

    numbers: tuple[int, ...]
    texts: tuple[str, ...]


def portions(passages: Sequence[str], budget: int, *, most: int | None = None) -> tuple[Portion, ...]:
    """The passages in order, in as few portions as filling them one after another gives.

    Blank passages are left out. A passage longer than the budget comes in pieces, each with its number.

    Args:
        passages: in the order they were retrieved.
        budget: tokens of a portion at most, as `estimated_tokens` counts.
        most: texts of a portion at most.

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
    """The text in pieces of at most ``budget`` tokens, together the whole of it; none if it is blank.

    It is divided after a paragraph, else after a sentence, else at a space, in the latter half of what a
    piece can hold; a run without any is divided anywhere.

    >>> pieces("One two. Three four.", budget=3)
    ('One two. ', 'Three four.')
    """
    if not text.strip():
        return ()
    return tuple(_divided(text, max(1, budget) * _BYTES_A_TOKEN))


def _divided(text: str, size: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        window = _window(text, start, size)
        end = start + (len(window) if start + len(window) == len(text) else _last_boundary(window))
        yield text[start:end]
        start = end


def _window(text: str, start: int, size: int) -> str:
    """As much of the text as fits into ``size`` bytes of UTF-8, ending with a whole character."""
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
    """The question as a section, where there is one.

    >>> from sgi.kernel.sample import Sample
    >>> question_section(Sample(id="1", question="Who?")), question_section(Sample(id="2", question=" "))
    ({'question': 'Who?'}, {})
    """
    return {"question": sample.question} if sample.question.strip() else {}


def reference_section(sample: Sample) -> dict[str, tuple[str, ...]]:
    """The accepted answers as a section, blank ones left out, where there is one.

    >>> from sgi.kernel.sample import Sample
    >>> reference_section(Sample(id="1", reference=["1889", " ", "in 1889"]))
    {'accepted_answers': ('1889', 'in 1889')}
    """
    accepted = tuple(text for text in sample.references if text.strip())
    return {"accepted_answers": accepted} if accepted else {}
