"""What was asked of a model so far, counted by the wrappers around it."""

from __future__ import annotations

from sgi.kernel.ports import Usage


class Tally:
    """A sum of usages that several wrappers add to.

    >>> tally = Tally()
    >>> tally.add(Usage(calls=1, cost=0.5))
    >>> tally.add(Usage(cached=1))
    >>> tally.usage
    Usage(calls=1, cached=1, retries=0, input_tokens=0, output_tokens=0, cost=0.5, unanswered=0)
    """

    def __init__(self) -> None:
        self.usage = Usage()

    def add(self, usage: Usage) -> None:
        """Count this too."""
        self.usage += usage
