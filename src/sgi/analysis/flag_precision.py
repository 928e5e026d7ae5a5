"""Measured precision of the flags of `grounding` on labelled answers."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "grounding_flags.json"


class FlagPrecision(BaseModel, frozen=True, extra="forbid"):
    """Counts of the labelled answers with one kind of flag; an answer counts once.

    Attributes:
        kind: kind of fact and verdict, such as ``number contradicted``, or ``low score``.
        answers: answers with such a flag.
        unsupported: how many of them are labelled unsupported.
        low, high: 95 % interval of this share.
        base_rate: share of unsupported answers if the same number of answers were drawn from each set.
    """

    kind: str
    answers: int
    unsupported: int
    low: float
    high: float
    base_rate: float

    @property
    def share(self) -> float:
        """The share of unsupported answers among the answers with the flag."""
        return self.unsupported / self.answers


class FlagTable(BaseModel, frozen=True, extra="forbid"):
    """The measured precision of each kind of flag, from ``scripts/measure_flags.py``.

    Attributes:
        version: version of `grounding` that was measured.
        sets: number of labelled answers of each set.
        base_rate: share of unsupported answers of all sets.
        flags: one entry for each kind of flag that occurred.
    """

    version: int
    sets: dict[str, int]
    base_rate: float
    flags: tuple[FlagPrecision, ...]


class ExpectedPrecision(NamedTuple):
    """Expected share of unsupported answers among the flagged answers of a run, and among the others."""

    share: float
    base_rate: float


@lru_cache(maxsize=1)
def flag_table() -> FlagTable:
    """Load the table of measured flag precision that is part of the package."""
    return FlagTable.model_validate_json((files("sgi") / "data" / FILE).read_bytes())


def expected_precision(kinds: Mapping[str, int]) -> ExpectedPrecision | None:
    """Average the precision of kinds of flags over the answers that have them; None if none was measured.

    Args:
        kinds: number of answers with each kind of flag.
    """
    known = [(flag, kinds[flag.kind]) for flag in flag_table().flags if kinds.get(flag.kind)]
    answers = sum(count for _, count in known)
    if not answers:
        return None
    return ExpectedPrecision(
        sum(flag.share * count for flag, count in known) / answers,
        sum(flag.base_rate * count for flag, count in known) / answers,
    )
