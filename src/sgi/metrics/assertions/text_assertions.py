"""Assertions that compare a response with texts, or match it with a regular expression."""

from __future__ import annotations

import unicodedata
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel.details import closed
from sgi.kernel.sample import REFERENCE, RESPONSE
from sgi.kernel.short_text import quote
from sgi.metrics.assertions.assertion import Assertion, AssertionDetails, Failure, assertion_spec
from sgi.text.linear_pattern import LinearPattern, check_pattern

if TYPE_CHECKING:
    from sgi.kernel.sample import Sample


@closed
class PlaceDetails(AssertionDetails, total=False):
    """Why the assertion fails, and where.

    Attributes:
        start: where the match begins, in characters from 0, in the response as it is compared.
    """

    start: int


def comparable(text: str, *, ignore_case: bool) -> str:
    """Return a text in Unicode's normal form C, without differences of case if they do not matter.

    >>> comparable("CAFE\u0301", ignore_case=True) == comparable("café", ignore_case=True)
    True
    """
    if ignore_case:
        text = unicodedata.normalize("NFC", text).casefold()
    return unicodedata.normalize("NFC", text)


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {value!r}")
    if not value.strip():
        raise ValueError(f"{name} must not be blank")


@dataclass(frozen=True)
class _OneText(Assertion):
    """Base of assertions about one text."""

    text: str
    ignore_case: bool = False

    def __post_init__(self) -> None:
        _check_text("text", self.text)

    def _find(self, sample: Sample) -> int:
        """Return where the text begins in the response; -1 if the response does not contain it."""
        text, response = (
            comparable(each, ignore_case=self.ignore_case) for each in (self.text, sample.response)
        )
        return response.find(text)


@dataclass(frozen=True)
class Contains(_OneText):
    """1 if the response contains a text, otherwise 0.

    Both are compared in Unicode's normal form C, so "é" equals "e" with an accent. Nothing else is changed:
    spaces, punctuation, zero-width characters and look-alike letters of other scripts all matter. A blank
    response fails.

    Attributes:
        text: the text to look for, anywhere in the response, also inside a word.
        ignore_case: whether upper and lower case are equal.

    >>> from sgi.types import Batch, Features, Sample
    >>> rows = Batch.of([Sample(id="1", response="Built in 1889."), Sample(id="2", response="Unknown.")])
    >>> scores = Contains("1889").score(rows, Features())
    >>> scores.values.tolist(), scores.details[1]
    ([1.0, 0.0], {'failure': "the response does not contain '1889'"})
    """

    spec: ClassVar = assertion_spec("contains")
    example: ClassVar = 'contains(text="1889")'

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure if the response does not contain the text."""
        absent = f"the response does not contain {quote(self.text)!r}"
        return Failure(absent) if self._find(sample) < 0 else None


@dataclass(frozen=True)
class NotContains(_OneText):
    """1 if the response does not contain a text, otherwise 0.

    It compares as ``contains`` does, so zero-width characters, other spaces and look-alike letters inside the
    text hide it. Do not rely on it where somebody wants to hide the text. A blank response passes; use
    ``length`` if it must fail.

    Attributes:
        text: the text that must not occur, not even inside a word.
        ignore_case: whether upper and lower case are equal.

    >>> from sgi.types import Sample
    >>> NotContains("cheap").failure(Sample(id="1", response="It is cheap.")).reason
    "the response contains 'cheap'"
    """

    spec: ClassVar = assertion_spec("not_contains", details=PlaceDetails)
    example: ClassVar = 'not_contains(text="know")'

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure with the place if the response contains the text."""
        start = self._find(sample)
        return None if start < 0 else Failure(f"the response contains {quote(self.text)!r}", {"start": start})


@dataclass(frozen=True)
class _SeveralTexts(Assertion):
    """Base of assertions about several texts."""

    texts: tuple[str, ...]
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if not self.texts or not isinstance(self.texts, (list, tuple)):
            raise ValueError(f"texts must be a list of at least one text, not {self.texts!r}")
        for text in self.texts:
            _check_text("each of the texts", text)
        object.__setattr__(self, "texts", tuple(self.texts))

    @property
    def vector_needs(self) -> None:
        """None: the parameter ``texts`` is not the method of `VectorNeeds`."""
        return

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure if texts are absent that should be in the response."""
        response = comparable(sample.response, ignore_case=self.ignore_case)
        absent = [
            text for text in self.texts if comparable(text, ignore_case=self.ignore_case) not in response
        ]
        if not self._fails(len(absent)):
            return None
        texts = ", ".join(repr(quote(text)) for text in absent)
        return Failure(f"the response does not contain {texts}", {"absent": [*absent]})

    @abstractmethod
    def _fails(self, absent: int) -> bool: ...


@closed
class AbsentDetails(AssertionDetails, total=False):
    """Why the assertion fails.

    Attributes:
        absent: the texts that the response does not contain; only if it fails.
    """

    absent: list[str]


@dataclass(frozen=True)
class ContainsAll(_SeveralTexts):
    """1 if the response contains every text of a list, otherwise 0.

    It compares as ``contains`` does. The details list the absent texts.

    Attributes:
        texts: the texts to look for.
        ignore_case: whether upper and lower case are equal.

    >>> from sgi.types import Sample
    >>> row = Sample(id="1", response="In Paris.")
    >>> ContainsAll(("Paris", "1889")).failure(row).reason
    "the response does not contain '1889'"
    """

    spec: ClassVar = assertion_spec("contains_all", details=AbsentDetails)
    example: ClassVar = 'contains_all(texts=["It", "1889"])'

    def _fails(self, absent: int) -> bool:
        return absent > 0


@dataclass(frozen=True)
class ContainsAny(_SeveralTexts):
    """1 if the response contains at least one text of a list, otherwise 0.

    It compares as ``contains`` does.

    Attributes:
        texts: the texts to look for.
        ignore_case: whether upper and lower case are equal.

    >>> from sgi.types import Sample
    >>> ContainsAny(("Paris", "Rome")).failure(Sample(id="1", response="In Paris.")) is None
    True
    """

    spec: ClassVar = assertion_spec("contains_any", details=AbsentDetails)
    example: ClassVar = 'contains_any(texts=["1888", "1889"])'

    def _fails(self, absent: int) -> bool:
        return absent == len(self.texts)


@dataclass(frozen=True)
class Equals(Assertion):
    """1 if the response equals the reference or one of its alternatives, otherwise 0.

    Both are compared in Unicode's normal form C, without the white space at their ends. Case, articles and
    punctuation matter; ``squad_em`` ignores them. A blank response equals only a blank reference.

    Attributes:
        ignore_case: whether upper and lower case are equal.

    >>> from sgi.types import Sample
    >>> Equals().failure(Sample(id="1", response="paris", reference="Paris")).reason
    'the response is not equal to the reference'
    >>> Equals(ignore_case=True).failure(Sample(id="1", response="paris", reference="Paris")) is None
    True
    """

    ignore_case: bool = False
    spec: ClassVar = assertion_spec("equals", needs=RESPONSE | REFERENCE)

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure if no reference is equal to the response."""
        response, *references = (
            comparable(text, ignore_case=self.ignore_case).strip()
            for text in (sample.response, *sample.references)
        )
        return None if response in references else Failure("the response is not equal to the reference")


_compiled = lru_cache(maxsize=256)(LinearPattern)


@dataclass(frozen=True)
class _Pattern(Assertion):
    """Base of assertions with a regular expression."""

    pattern: str
    whole: bool = False

    def __post_init__(self) -> None:
        check_pattern(self.pattern)
        if not self.pattern:
            raise ValueError("pattern must not be empty")

    def _match(self, sample: Sample) -> tuple[int, int] | None:
        pattern = _compiled(self.pattern)
        if not self.whole:
            return pattern.search(sample.response)
        return (0, len(sample.response)) if pattern.matches(sample.response) else None


@dataclass(frozen=True)
class Matches(_Pattern):
    """1 if a regular expression matches the response, otherwise 0.

    The syntax is RE2: Python's without look-around and back references; ``(?i)`` at the beginning
    ignores case. It takes time proportional to the length of the response, for every pattern. It needs the
    extra ``patterns``. The response is matched as it is, without Unicode normalisation.

    Attributes:
        pattern: the regular expression; it must not match an empty text.
        whole: whether it must match the whole response; if not, it may match anywhere in it.

    >>> from sgi.types import Sample
    >>> row = Sample(id="1", response="It was completed on 1889-03-31.")
    >>> Matches("[0-9]{4}-[0-9]{2}-[0-9]{2}").failure(row) is None
    True
    >>> Matches("[0-9-]+", whole=True).failure(row).reason
    "the pattern '[0-9-]+' does not match the whole response"
    """

    spec: ClassVar = assertion_spec("matches")
    example: ClassVar = 'matches(pattern="[0-9]{4}")'

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure if the pattern does not match."""
        if self._match(sample) is not None:
            return None
        place = "match the whole response" if self.whole else "occur in the response"
        return Failure(f"the pattern {quote(self.pattern)!r} does not {place}")


@dataclass(frozen=True)
class NotMatches(_Pattern):
    """1 if a regular expression does not match the response, otherwise 0.

    The syntax is as in ``matches``. A blank response passes; use ``length`` if it must fail. The details
    have the place of the first match.

    Attributes:
        pattern: the regular expression; it must not match an empty text.
        whole: whether only a match of the whole response counts; if not, a match anywhere in it counts.

    >>> from sgi.types import Sample
    >>> NotMatches("(?i)as an ai").failure(Sample(id="1", response="As an AI, I cannot.")).reason
    "the pattern '(?i)as an ai' matches 'As an AI'"
    """

    spec: ClassVar = assertion_spec("not_matches", details=PlaceDetails)
    example: ClassVar = 'not_matches(pattern="(?i)I (cannot|don.t)")'

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure with the place of the first match."""
        span = self._match(sample)
        if span is None:
            return None
        text = quote(sample.response[slice(*span)])
        return Failure(f"the pattern {quote(self.pattern)!r} matches {text!r}", {"start": span[0]})
