"""Ranks systems by a judge's pairwise preferences, asked in both orders."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import anyio
import numpy as np
from pydantic import BaseModel

from sgi.engine.in_thread import first_error
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.summary import NotebookRepr
from sgi.kernel.errors import JudgeError, UsageError
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.kernel.protocols import usage_of
from sgi.kernel.short_text import short_repr
from sgi.metrics.judged.reply_types import Reason
from sgi.stats.bradley_terry import bradley_terry
from sgi.stats.intervals import Interval, NoInterval, interval_or_none, p_of_value
from sgi.stats.means import mean_interval
from sgi.stats.paired_tests import holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.systems import Systems
    from sgi.engine.progress import Listener
    from sgi.kernel.prompts import Section
    from sgi.kernel.protocols import Judge, Usage
    from sgi.kernel.sample import Sample

_INSTRUCTIONS = """\
Decide which of two responses answers the question better.
A correct response is better than a wrong one; a complete one is better than one that leaves out part of the \
answer; one that says that it does not know is better than one that is wrong. {reference}Do not prefer a \
response because it is longer, comes first, is more polite or sounds more certain.
better is "response_1", "response_2", or "tie" if both answer the question equally well or equally badly.
reasoning comes before the decision: one or two sentences that name what decides it."""
_REFERENCE = "The reference is a correct answer; a response may say the same in other words. "


class Preference(ReplyModel, strict=True):
    """Which response is better, with the reasoning before it."""

    reasoning: Reason
    better: Literal["response_1", "response_2", "tie"]


_EXAMPLE: dict[str, Section] = {
    "question": "When was the ferry Anke built, and where?",
    "reference": "In Tolvik, in 1950.",
    "response_1": "The Anke was built in 1950, after a long delay that the yard regretted very much.",
    "response_2": "In 1950, at Tolvik.",
}
_REPLY = Preference(reasoning="Both give the year; only response 2 gives the place.", better="response_2")


def _prompt(name: str, reference: str) -> Prompt:
    sections = {key: text for key, text in _EXAMPLE.items() if reference or key != "reference"}
    return Prompt(name, _INSTRUCTIONS.format(reference=reference), (Example(sections, _REPLY),))


WITH_REFERENCE = _prompt("duel.with_reference", _REFERENCE)
WITHOUT_REFERENCE = _prompt("duel.without_reference", "")


class BothOrders(BaseModel, frozen=True):
    """The preferences for two responses A and B.

    Attributes:
        a_first: the reply where A is response 1.
        b_first: the reply where B is response 1.
    """

    a_first: Preference
    b_first: Preference

    @property
    def outcome(self) -> Literal["first", "second", "tie", "order-dependent"]:
        """Which response, A (``first``) or B, wins in both orders; ``tie`` if both replies are ties."""
        match self.a_first.better, self.b_first.better:
            case "response_1", "response_2":
                return "first"
            case "response_2", "response_1":
                return "second"
            case "tie", "tie":
                return "tie"
        return "order-dependent"


async def ask_both_orders(question: str, reference: str, a: str, b: str, judge: Judge) -> BothOrders:
    """Ask the judge twice, with each response first; a blank reference is left out.

    Raises a JudgeError if a reply is not usable.
    """
    prompt = WITH_REFERENCE if reference.strip() else WITHOUT_REFERENCE
    replies = []
    for first, second in ((a, b), (b, a)):
        sections: dict[str, Section] = {"question": question}
        if reference.strip():
            sections["reference"] = reference
        inquiry = prompt.about(**sections, response_1=first, response_2=second)
        replies.append(await judge.ask(inquiry, Preference))
    return BothOrders(a_first=replies[0], b_first=replies[1])


Outcome = Literal["first", "second", "tie", "order-dependent", "failed", "missing"]
OUTCOMES: tuple[Outcome, ...] = ("first", "second", "tie", "order-dependent", "failed", "missing")
_POINTS = {"first": 1.0, "second": 0.0, "tie": 0.5, "order-dependent": 0.5}


@dataclass(frozen=True)
class DuelRow:
    """The judge's preference between two systems on one question.

    Attributes:
        id: the id of the row of the first system.
        first: name of the first system.
        second: name of the second system.
        outcome: the system that wins in both orders; ``tie`` if both replies are ties; ``order-dependent`` if
            the replies disagree; ``failed`` without two usable replies; ``missing`` without two responses.
        reasons: the judge's reasons, with the first system first, then with the second system first; for a
            row without replies, why it has none.
        same: whether both responses are equal, which is a tie without a request.
    """

    id: str
    first: str
    second: str
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    same: bool = False


@dataclass(frozen=True)
class PairResult:
    """All duels of two systems.

    Attributes:
        counts: the number of rows by outcome.
        win_rate: mean of 1 for a win of the first system, 0 for one of the second and ½ otherwise; None
            without decided rows.
        interval: its confidence interval; None if it cannot be computed.
        p: two-sided p of a win rate of ½, below 0.05 exactly if the interval excludes ½; None without one.
        adjusted_p: p corrected by Holm for all pairs.
        no_interval: why there is no interval; empty if there is one.
    """

    first: str
    second: str
    counts: Mapping[Outcome, int]
    win_rate: float | None
    interval: Interval | None
    p: float | None
    adjusted_p: float | None
    no_interval: str = ""


@dataclass(frozen=True)
class RankedSystem:
    """One system in the ranking; ``strength`` is the log-odds of a win against an average system."""

    system: str
    wins: int
    losses: int
    strength: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Duel(NotebookRepr):
    """The result of all duels.

    Attributes:
        systems: the systems, strongest first; in the given order without strengths.
        pairs: the result of each pair, in the given order of systems.
        rows: every duel.
        shown_first: share of the decided replies that prefer the response shown first; 0.5 without a bias.
        shown_first_interval: its confidence interval; None if it cannot be computed.
        judge: fingerprint of the judge.
        usage: requests, tokens and cost.
        notes: assumptions, and why numbers are missing.
    """

    systems: tuple[RankedSystem, ...]
    pairs: tuple[PairResult, ...]
    rows: tuple[DuelRow, ...]
    shown_first: float | None
    shown_first_interval: Interval | None
    judge: str
    usage: Usage
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    def to_dict(self, *, rows: bool = False) -> dict[str, Any]:
        """Return the result as JSON values; ``rows`` includes every duel."""
        facts = asdict(self)
        return facts if rows else {name: value for name, value in facts.items() if name != "rows"}

    def __str__(self) -> str:
        lines = [
            f"{pair.first} against {pair.second}: "
            + ", ".join(f"{count:,} {name}" for name, count in pair.counts.items() if count)
            for pair in self.pairs
        ]
        return "\n".join([*lines, *self.notes, self.judge])


@dataclass(frozen=True)
class _Answered:
    """A duel with its replies; None for a row without them."""

    row: DuelRow
    unit: int
    pair: tuple[int, int]
    replies: BothOrders | None


async def duel(systems: Systems, judge: Judge, *, listener: Listener = silent) -> Duel:
    """Ask a judge, for each question and pair of systems, which response is better.

    Each pair is asked in both orders. A system wins only if it is preferred in both; other rows are ties or
    order-dependent, are counted apart, and count as half a win of each side. Equal responses are a tie
    without a request. Rows without two responses are ``missing``, and rows without two usable replies
    ``failed``; neither enters the results.

    Raises:
        UsageError: the texts of the responses are not available.
    """
    samples = [systems.samples(system) for system in range(len(systems.names))]
    if not all(samples):
        raise UsageError("The responses are not stored, so a judge cannot compare them.")
    answered = await _ask_all(systems, samples, judge, listener)
    pairs = _pair_results(systems, answered)
    ranked, missing = _ranking(systems, answered)
    share, interval = _shown_first(systems, answered)
    notes = [*systems.notes, *([missing] if missing else [])]
    return Duel(
        systems=ranked,
        pairs=pairs,
        rows=tuple(one.row for one in answered),
        shown_first=share,
        shown_first_interval=interval,
        judge=judge.fingerprint,
        usage=usage_of(judge),
        notes=tuple(notes),
    )


async def _ask_all(
    systems: Systems, samples: Sequence[Sequence[Sample | None]], judge: Judge, listener: Listener
) -> list[_Answered]:
    tasks = [
        (unit, pair)
        for unit in range(len(systems.clusters))
        for pair in combinations(range(len(systems.names)), 2)
    ]
    results: list[_Answered | None] = [None] * len(tasks)
    listener(Started("duels", len(tasks)))

    async def ask(place: int, unit: int, pair: tuple[int, int]) -> None:
        names = (systems.names[pair[0]], systems.names[pair[1]])
        row, replies = await _ask(samples[pair[0]][unit], samples[pair[1]][unit], names, judge)
        results[place] = _Answered(row, unit, pair, replies)
        listener(Advanced(1))

    try:
        async with anyio.create_task_group() as group:
            for place, task in enumerate(tasks):
                group.start_soon(ask, place, *task)
    except BaseExceptionGroup as raised:
        raise first_error(raised) from None
    listener(Finished("duels"))
    return [one for one in results if one is not None]


async def _ask(
    one: Sample | None, two: Sample | None, names: tuple[str, str], judge: Judge
) -> tuple[DuelRow, BothOrders | None]:
    known = one or two
    name = "" if known is None else known.id
    if one is None or two is None or not (one.response.strip() and two.response.strip()):
        return DuelRow(name, *names, "missing", ("a response is absent or blank",)), None
    if one.response == two.response:
        return DuelRow(name, *names, "tie", same=True), None
    try:
        replies = await ask_both_orders(one.question, one.reference or "", one.response, two.response, judge)
    except JudgeError as error:
        return DuelRow(name, *names, "failed", (str(error),)), None
    reasons = (replies.a_first.reasoning, replies.b_first.reasoning)
    return DuelRow(name, *names, replies.outcome, reasons), replies


def _points(systems: Systems, answered: Sequence[_Answered]) -> list[tuple[_Answered, float, int]]:
    """Return the decided duels with the points of the first system and the cluster."""
    return [
        (one, _POINTS[one.row.outcome], int(systems.clusters[one.unit]))
        for one in answered
        if one.row.outcome in _POINTS
    ]


def _pair_results(systems: Systems, answered: Sequence[_Answered]) -> tuple[PairResult, ...]:
    results = []
    for pair in combinations(range(len(systems.names)), 2):
        duels = [one for one in answered if one.pair == pair]
        points, clusters = _columns(_points(systems, duels))
        interval = _win_rate(points, clusters, 0.95)
        p = p_of_value(partial(_win_rate, points, clusters), 0.5)
        counts = Counter(one.row.outcome for one in duels)
        results.append((pair, points, interval, p, {name: counts[name] for name in OUTCOMES}))
    adjusted = holm([p for *_, p, _ in results])
    return tuple(
        PairResult(
            first=systems.names[one],
            second=systems.names[two],
            counts=counts,
            win_rate=float(points.mean()) if len(points) else None,
            interval=interval_or_none(interval),
            p=p,
            adjusted_p=corrected,
            no_interval=interval.reason if isinstance(interval, NoInterval) else "",
        )
        for ((one, two), points, interval, p, counts), corrected in zip(results, adjusted, strict=True)
    )


def _win_rate(
    points: NDArray[np.float64], clusters: NDArray[np.int64], level: float
) -> Interval | NoInterval:
    return mean_interval(points, clusters, low=0.0, high=1.0, level=level)


def _columns(
    points: Sequence[tuple[_Answered, float, int]],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    values = np.array([value for _, value, _ in points], dtype=np.float64)
    return values, np.array([cluster for *_, cluster in points], dtype=np.int64)


def _ranking(systems: Systems, answered: Sequence[_Answered]) -> tuple[tuple[RankedSystem, ...], str]:
    """Return the systems, strongest first, and a note on strengths or intervals that are missing."""
    decided = _points(systems, answered)
    points, clusters = _columns(decided)
    first, second = (np.array([one.pair[side] for one, *_ in decided], dtype=np.int64) for side in (0, 1))
    strengths = bradley_terry(first, second, points, systems=len(systems.names), clusters=clusters)
    ranked = []
    for place, name in enumerate(systems.names):
        wins = int((points[first == place] == 1).sum() + (points[second == place] == 0).sum())
        losses = int((points[first == place] == 0).sum() + (points[second == place] == 1).sum())
        value = strengths.values[place]
        known = value if np.isfinite(value) else None
        ranked.append(RankedSystem(name, wins, losses, known, strengths.intervals[place]))
    ordered = sorted(ranked, key=lambda one: -(one.strength or 0.0))
    what = "No strengths" if np.isnan(strengths.values).any() else "Strengths without an interval"
    return tuple(ordered), f"{what}: {strengths.reason}." if strengths.reason else ""


def _shown_first(systems: Systems, answered: Sequence[_Answered]) -> tuple[float | None, Interval | None]:
    """Return the share of replies other than ties that prefer response 1."""
    replies = [
        (reply.better == "response_1", int(systems.clusters[one.unit]))
        for one in answered
        if one.replies is not None
        for reply in (one.replies.a_first, one.replies.b_first)
        if reply.better != "tie"
    ]
    if not replies:
        return None, None
    values = np.array([value for value, _ in replies], dtype=np.float64)
    interval = mean_interval(values, [cluster for _, cluster in replies], low=0.0, high=1.0)
    return float(values.mean()), interval_or_none(interval)
