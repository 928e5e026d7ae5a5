"""Result of pairwise comparisons by a judge: the rows, and for each criterion the pairs and the ranking."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from sgi.engine.summary import NotebookRepr
from sgi.kernel.short_text import short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.analysis.duel.duel_criteria import Better
    from sgi.kernel.protocols import Usage
    from sgi.stats.intervals import Interval

Outcome = Literal["first", "second", "tie", "order-dependent", "failed", "missing"]
OUTCOMES: tuple[Outcome, ...] = ("first", "second", "tie", "order-dependent", "failed", "missing")


@dataclass(frozen=True)
class DuelRow:
    """The judge's preference between two responses to one question.

    Attributes:
        criterion: the criterion of the judge.
        id: the id of the row of the first system.
        cluster: number of the cluster of the question.
        first: name of the first system.
        second: name of the second system; in the A/A test, the same system.
        outcome: the response that is preferred in both orders; ``tie`` if both replies are ties;
            ``order-dependent`` if the replies disagree; ``failed`` without all usable replies; ``missing``
            without two responses.
        better: the judge's choices, with the first response shown first, then with the second one; a single
            one if a text is compared with itself.
        reasons: the judge's reasons in the same order; for a row without replies, why it has none.
        same: whether both responses are equal; between two systems, that is a tie without a request.
        lengths: characters of the two responses.
    """

    criterion: str
    id: str
    cluster: int
    first: str
    second: str
    outcome: Outcome
    better: tuple[Better, ...] = ()
    reasons: tuple[str, ...] = ()
    same: bool = False
    lengths: tuple[int, int] = (0, 0)

    @property
    def is_aa(self) -> bool:
        """Whether a system is compared with itself."""
        return self.first == self.second


@dataclass(frozen=True)
class AaTest:
    """The A/A test: the judge compares a system with itself.

    Attributes:
        questions: number of questions with usable replies.
        same: how many of them compare a text with itself, not two answers of the system.
        failed: number of questions without all usable replies.
        shown_first: share of the replies that prefer the response shown first, ties as ½; 0.5 without a bias.
        interval: its confidence interval; None if it cannot be computed.
        after: what order and length of the model leave of the deviation from ½; None without an estimate.
        after_interval: its confidence interval.
        no_estimate: why there is no such deviation; empty if there is one.
    """

    questions: int
    same: int
    failed: int
    shown_first: float | None
    interval: Interval | None
    after: float | None
    after_interval: Interval | None
    no_estimate: str = ""


@dataclass(frozen=True)
class PairResult:
    """All comparisons of two systems by one criterion.

    Attributes:
        counts: the number of rows by outcome.
        win_rate: mean of 1 for a win of the first system, 0 for one of the second and ½ otherwise; None
            without decided rows.
        interval: its confidence interval; None if it cannot be computed.
        at_equal_length: the win rate of the first system at equal length and without an effect of the order;
            None without an estimate.
        at_equal_length_interval: its confidence interval; None if it cannot be computed.
        p: two-sided p of a win rate of ½ at equal length, below 0.05 exactly if the interval excludes ½.
        adjusted_p: p corrected by Holm for all pairs and criteria.
        length_ratio: how many times as long the responses of the first system are (geometric mean).
        no_interval: why the win rate has no interval; empty if it has one.
        no_estimate: why there is no win rate at equal length, or no interval of it; empty if there is.
    """

    first: str
    second: str
    counts: Mapping[str, int]
    win_rate: float | None
    interval: Interval | None
    at_equal_length: float | None
    at_equal_length_interval: Interval | None
    p: float | None
    adjusted_p: float | None
    length_ratio: float | None
    no_interval: str = ""
    no_estimate: str = ""


@dataclass(frozen=True)
class RankedSystem:
    """One system in the ranking.

    Attributes:
        system: its name.
        wins: number of comparisons that it won in both orders.
        losses: number of comparisons that it lost in both orders.
        strength: log odds of a preference to an average system, at equal length and without an effect of the
            order (Bradley–Terry); None without an estimate.
        interval: its confidence interval; None if it cannot be computed.
    """

    system: str
    wins: int
    losses: int
    strength: float | None
    interval: Interval | None


@dataclass(frozen=True)
class CriterionDuel:
    """The comparisons by one criterion.

    Attributes:
        criterion: its name.
        pairs: the result of each pair, in the given order of systems.
        systems: the systems, strongest first; in the given order without strengths.
        aa: the A/A test; None if it was not made.
        shown_first: share of the replies on pairs of systems, other than ties, that prefer the response shown
            first; 0.5 without a bias.
        shown_first_interval: its confidence interval; None if it cannot be computed.
        twice_as_long: share of preferences of a response that is twice as long and otherwise equal, by the
            model; 0.5 without an effect of the length; None without an estimate.
        twice_as_long_interval: its confidence interval; None if it cannot be computed.
        no_strengths: why strengths or their intervals are missing; empty if nothing is missing.
    """

    criterion: str
    pairs: tuple[PairResult, ...]
    systems: tuple[RankedSystem, ...]
    aa: AaTest | None
    shown_first: float | None
    shown_first_interval: Interval | None
    twice_as_long: float | None
    twice_as_long_interval: Interval | None
    no_strengths: str = ""


@dataclass(frozen=True)
class Duel(NotebookRepr):
    """The result of all comparisons.

    Attributes:
        criteria: the result by each criterion.
        rows: every comparison, those of the A/A test first.
        judge: fingerprint of the judge.
        usage: requests, tokens and cost.
        notes: assumptions, and why numbers are missing.
    """

    criteria: tuple[CriterionDuel, ...]
    rows: tuple[DuelRow, ...]
    judge: str
    usage: Usage
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    def to_dict(self, *, rows: bool = False) -> dict[str, Any]:
        """Return the result as JSON values; ``rows`` includes every comparison."""
        facts = asdict(self)
        return facts if rows else {name: value for name, value in facts.items() if name != "rows"}

    def __str__(self) -> str:
        lines = [
            f"{part.criterion}: {pair.first} against {pair.second}: "
            + ", ".join(f"{count:,} {name}" for name, count in pair.counts.items() if count)
            for part in self.criteria
            for pair in part.pairs
        ]
        return "\n".join([*lines, *self.notes, self.judge])
