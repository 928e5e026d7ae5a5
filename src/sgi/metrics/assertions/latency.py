"""The assertion about the time that an answer took."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel.sample import LATENCY_MS
from sgi.metrics.assertions.assertion import Assertion, Failure, assertion_spec

if TYPE_CHECKING:
    from sgi.kernel.sample import Sample


@dataclass(frozen=True)
class LatencyBelow(Assertion):
    """1 if the answer took less time than a limit, otherwise 0.

    The time is the field ``latency_ms``. The mean is the share of the answers in time; for a percentile, use
    ``latency`` and a gate such as ``latency.p95<=2000``.

    Attributes:
        ms: the limit in milliseconds; an answer that takes exactly as long fails.

    >>> from sgi import Sample
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
