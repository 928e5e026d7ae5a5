"""Assertions that look for texts in a response."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sgi.metrics.assertions.assertion import Assertion, Failure, assertion_spec

if TYPE_CHECKING:
    from sgi.kernel.sample import Sample


def comparable(text: str, *, ignore_case: bool) -> str:
    """Return a text in Unicode's normal form C, without differences of case if they do not matter."""
    if ignore_case:
        text = unicodedata.normalize("NFC", text).casefold()
    return unicodedata.normalize("NFC", text)


@dataclass(frozen=True)
class Contains(Assertion):
    """1 if the response contains a text, otherwise 0.

    Both are compared in Unicode's normal form C, so "é" equals "e" with an accent. Nothing else is changed:
    spaces, punctuation, zero-width characters and look-alike letters of other scripts all matter. A blank
    response fails.

    Attributes:
        text: the text to look for, anywhere in the response, also inside a word.
        ignore_case: whether upper and lower case are equal.

    >>> from sgi import Batch, Features, Sample
    >>> rows = Batch.of([Sample(id="1", response="Built in 1889."), Sample(id="2", response="Unknown.")])
    >>> scores = Contains("1889").score(rows, Features())
    >>> scores.values.tolist(), scores.details[1]
    ([1.0, 0.0], {'failure': "the response does not contain '1889'"})
    """

    text: str
    ignore_case: bool = False
    spec: ClassVar = assertion_spec("contains")
    example: ClassVar = 'contains(text="1889")'

    def __post_init__(self) -> None:
        check_text("text", self.text)

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return why the response does not contain the text."""
        response = comparable(sample.response, ignore_case=self.ignore_case)
        if comparable(self.text, ignore_case=self.ignore_case) in response:
            return None
        return Failure(f"the response does not contain {self.text!r}")


def check_text(name: str, value: object) -> None:
    """Check a parameter that is a text to look for.

    Raises:
        TypeError: it is not a text.
        ValueError: it is blank.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {value!r}")
    if not value.strip():
        raise ValueError(f"{name} must not be blank")
