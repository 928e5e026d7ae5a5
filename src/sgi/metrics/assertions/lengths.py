"""Assertions about the length of a response, and about the time that it took."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from sgi.kernel.details import closed
from sgi.kernel.sample import LATENCY_MS
from sgi.metrics.assertions.assertion import Assertion, AssertionDetails, Failure, assertion_spec
from sgi.metrics.parameters import check_choice
from sgi.text.tokenizers import sentences, unicode_words

if TYPE_CHECKING:
    from sgi.kernel.sample import Sample

Unit = Literal["words", "characters", "sentences"]


def measured_length(text: str, unit: Unit) -> int:
    """Return the length of a text without the white space at its ends.

    >>> [measured_length("It is old. It is red! ", unit) for unit in ("words", "characters", "sentences")]
    [6, 21, 2]
    """
    if unit == "characters":
        return len(text.strip())
    return len(sentences(text)) if unit == "sentences" else len(unicode_words(text).split())


@closed
class LengthDetails(AssertionDetails, total=False):
    """Why the assertion fails.

    Attributes:
        length: the length of the response; only if it fails.
    """

    length: int


@dataclass(frozen=True)
class Length(Assertion):
    """1 if the length of the response is within limits, otherwise 0.

    Characters are Unicode code points, without the white space at the ends. Words are runs of letters and
    digits; in scripts without spaces between words, such as Chinese, each letter is a word. Sentences end as
    in English texts, and at line breaks. With the defaults, a response passes if it has a word.

    Attributes:
        low: the smallest length that passes.
        high: the largest length that passes; None means no limit.
        unit: ``words``, ``characters`` or ``sentences``.

    >>> from sgi.types import Sample
    >>> row = Sample(id="1", response="It was completed in 1889.")
    >>> Length(high=3).failure(row).reason
    'the response has 5 words, more than 3'
    >>> Length(high=1, unit="sentences").failure(row) is None
    True
    """

    low: int = 1
    high: int | None = None
    unit: Unit = "words"
    spec: ClassVar = assertion_spec("length", details=LengthDetails)

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, Unit)
        for name, value in {"low": self.low, "high": self.high}.items():
            if type(value) is not int and not (name == "high" and value is None):
                raise TypeError(f"{name} must be a whole number, not {value!r}")
        if self.low < 0:
            raise ValueError(f"low must be 0 or more, not {self.low}")
        if self.high is not None and self.high < self.low:
            raise ValueError(f"high must not be below low ({self.low}), but is {self.high}")

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure with the length if it is outside the limits."""
        length = measured_length(sample.response, self.unit)
        unit = self.unit if length != 1 else self.unit.removesuffix("s")
        if length < self.low:
            return Failure(f"the response has {length} {unit}, fewer than {self.low}", {"length": length})
        if self.high is not None and length > self.high:
            return Failure(f"the response has {length} {unit}, more than {self.high}", {"length": length})
        return None


@dataclass(frozen=True)
class LatencyBelow(Assertion):
    """1 if the answer took less time than a limit, otherwise 0.

    The time is the field ``latency_ms``. The mean is the share of the answers in time; for a percentile, use
    ``latency`` and a gate such as ``latency.p95<=2000``.

    Attributes:
        ms: the limit in milliseconds; an answer that takes exactly as long fails.

    >>> from sgi.types import Sample
    >>> LatencyBelow(ms=2000).failure(Sample(id="1", latency_ms=2310.5)).reason
    'the answer took 2310.5 ms, not less than 2000'
    """

    ms: float
    spec: ClassVar = assertion_spec("latency_below", needs=LATENCY_MS)
    example: ClassVar = "latency_below(ms=2000)"

    def __post_init__(self) -> None:
        if type(self.ms) not in (int, float) or not 0 < self.ms < math.inf:
            raise ValueError(f"ms must be a number above 0, not {self.ms!r}")
        object.__setattr__(self, "ms", int(self.ms) if self.ms == int(self.ms) else self.ms)

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure if the time is at least the limit."""
        if sample.latency_ms is not None and sample.latency_ms < self.ms:
            return None
        return Failure(f"the answer took {sample.latency_ms} ms, not less than {self.ms}")
