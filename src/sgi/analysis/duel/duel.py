"""Asks a judge for its preferences between systems, in both orders, after an A/A test."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import anyio
import numpy as np

from sgi.analysis.duel.duel_criteria import MAX_AA_QUESTIONS, Preference, criteria_named
from sgi.analysis.duel.duel_estimates import criterion_duel, with_adjusted_p
from sgi.analysis.duel.duel_result import Duel, DuelRow
from sgi.engine.in_thread import first_error
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.run_recorder import require_texts
from sgi.kernel.errors import JudgeError, UsageError
from sgi.kernel.protocols import usage_of
from sgi.store.cache import open_reply_cache

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sgi.analysis.duel.duel_criteria import Better, Criterion
    from sgi.analysis.duel.duel_result import CriterionDuel, Outcome
    from sgi.analysis.systems import Systems
    from sgi.engine.progress import Listener
    from sgi.kernel.protocols import Judge, Usage
    from sgi.kernel.sample import Sample
    from sgi.llm.judge_spec import JudgeSpec


class _Comparison(NamedTuple):
    """Two responses to compare, each with the name of its system; equal names in the A/A test."""

    unit: int
    systems: tuple[str, str]
    samples: tuple[Sample | None, Sample | None]


def outcome_of(first_shown_first: Better, second_shown_first: Better) -> Outcome:
    """Return the outcome of the judge's choices in both orders.

    >>> outcome_of("response_1", "response_2"), outcome_of("response_1", "response_1")
    ('first', 'order-dependent')
    """
    match first_shown_first, second_shown_first:
        case "response_1", "response_2":
            return "first"
        case "response_2", "response_1":
            return "second"
        case "tie", "tie":
            return "tie"
    return "order-dependent"


async def duel(
    systems: Systems,
    judge: Judge,
    *,
    on: Sequence[str] = (),
    aa: int = MAX_AA_QUESTIONS,
    listener: Listener = silent,
) -> Duel:
    """Ask a judge, for each criterion, question and pair of systems, which response is better.

    First comes the A/A test: for up to ``aa`` questions, the judge compares two answers of one system in both
    orders, or, if the system has only one answer, this answer with itself. Then each pair of systems is asked
    in both orders. A system wins only if it is preferred in both; other rows are ties or order-dependent, are
    counted apart, and count as half a win of each side. Equal responses of two systems are a tie without a
    request. Rows without two responses are ``missing``, and rows without all usable replies ``failed``;
    neither enters the results.

    Raises:
        UnknownNameError: a criterion of ``on`` is unknown.
        UsageError: the texts of the responses are not available.
    """
    criteria = criteria_named(on)
    rows = await _ask_rows(systems, judge, criteria, aa, listener)
    parts = with_adjusted_p(
        [
            criterion_duel(
                one.name, systems.names, [row for row in rows if row.criterion == one.name], with_aa=aa > 0
            )
            for one in criteria
        ]
    )
    notes = (*systems.notes, *(note for part in parts for note in _notes(part)))
    return Duel(parts, tuple(rows), judge.fingerprint, usage_of(judge), notes)


async def estimate_duel(
    systems: Systems,
    judge: JudgeSpec,
    *,
    on: Sequence[str] = (),
    aa: int = MAX_AA_QUESTIONS,
    cache: bool | str | Path = True,
) -> Usage:
    """Estimate the calls and the cost of the judge for a duel; no request is sent, cached replies are free.

    The arguments and the errors are those of `duel`; ``cache`` is as in `RunOptions`.
    """
    from sgi.llm.estimate import EstimatingJudge

    with open_reply_cache(cache) as replies:
        sketching = EstimatingJudge.of(judge, replies)
        await _ask_rows(systems, sketching, criteria_named(on), aa, silent)
    return sketching.usage


async def _ask_rows(
    systems: Systems, judge: Judge, criteria: Sequence[Criterion], aa: int, listener: Listener
) -> list[DuelRow]:
    """Ask the judge about all rows, those of the A/A test first."""
    for run in systems.runs:
        require_texts(run.record, "A duel")
    samples = [systems.samples(system) for system in range(len(systems.names))]
    if not all(samples):
        raise UsageError("The responses are not stored, so a judge cannot compare them.")
    rows: list[DuelRow] = []
    for what, comparisons in (
        ("A/A test", [*_with_itself(systems, samples, aa)]),
        ("duels", [*_of_pairs(systems, samples)]),
    ):
        if comparisons:
            rows += await _ask_all(what, criteria, comparisons, systems, judge, listener)
    return rows


def _notes(part: CriterionDuel) -> Iterator[str]:
    """Yield why estimates of a criterion are missing."""
    for pair in part.pairs:
        if pair.no_estimate:
            what = "win rate at equal length" if pair.at_equal_length is None else "interval at equal length"
            yield f"{part.criterion}, {pair.first} against {pair.second}: no {what}: {pair.no_estimate}."
    if part.no_strengths and len(part.systems) > 2:  # noqa: PLR2004 - two systems are not ranked
        unknown = any(one.strength is None for one in part.systems)
        what = "no strengths" if unknown else "strengths without an interval"
        yield f"{part.criterion}: {what}: {part.no_strengths}."


def _of_pairs(systems: Systems, samples: Sequence[Sequence[Sample | None]]) -> Iterator[_Comparison]:
    for unit in range(len(systems.clusters)):
        for one, two in combinations(range(len(systems.names)), 2):
            names = (systems.names[one], systems.names[two])
            yield _Comparison(unit, names, (samples[one][unit], samples[two][unit]))


def _with_itself(
    systems: Systems, samples: Sequence[Sequence[Sample | None]], questions: int
) -> Iterator[_Comparison]:
    """Yield the comparisons of the A/A test: questions spread over the data, and systems in turn."""
    units, count = len(systems.clusters), len(systems.names)
    places = np.linspace(0, units - 1, min(questions, units)).round().astype(int).tolist()
    last = [systems.samples(system, last=True) if places else [] for system in range(count)]
    others = [{one.question: one for one in of_system if _is_answered(one)} for of_system in last]
    for turn, unit in enumerate(places):
        order = [(turn + step) % count for step in range(count)]
        for system in order:
            own = samples[system][unit]
            if _is_answered(own):
                other = others[system].get(own.question, own) if own.question.strip() else own
                yield _Comparison(unit, (systems.names[system],) * 2, (own, other))
                break


def _is_answered(sample: Sample | None) -> TypeGuard[Sample]:
    return sample is not None and bool(sample.response.strip())


async def _ask_all(
    what: str,
    criteria: Sequence[Criterion],
    comparisons: Sequence[_Comparison],
    systems: Systems,
    judge: Judge,
    listener: Listener,
) -> list[DuelRow]:
    tasks = [(criterion, one) for criterion in criteria for one in comparisons]
    rows: list[DuelRow | None] = [None] * len(tasks)
    listener(Started(what, len(tasks)))

    async def ask(place: int, criterion: Criterion, one: _Comparison) -> None:
        rows[place] = await _ask(criterion, one, int(systems.clusters[one.unit]), judge)
        listener(Advanced(1))

    try:
        async with anyio.create_task_group() as group:
            for place, task in enumerate(tasks):
                group.start_soon(ask, place, *task)
    except BaseExceptionGroup as raised:
        raise first_error(raised) from None
    listener(Finished(what))
    return [row for row in rows if row is not None]


async def _ask(criterion: Criterion, comparison: _Comparison, cluster: int, judge: Judge) -> DuelRow:
    one, two = comparison.samples
    known = one or two
    name = "" if known is None else known.id
    row = DuelRow(criterion.name, name, cluster, *comparison.systems, "missing")
    if not (_is_answered(one) and _is_answered(two)):
        return replace(row, reasons=("a response is absent or blank",))
    lengths = (len(one.response.strip()), len(two.response.strip()))
    row = replace(row, same=one.response == two.response, lengths=lengths)
    if row.same and not row.is_aa:
        return replace(row, outcome="tie")
    replies = []
    try:
        # Both orders of a text with itself are the same request.
        for first, second in ((one, two),) if row.same else ((one, two), (two, one)):
            inquiry = criterion.inquiry(one.question, one.reference or "", first.response, second.response)
            replies.append(await judge.ask(inquiry, Preference))
    except JudgeError as error:
        return replace(row, outcome="failed", reasons=(str(error),))
    better = tuple(reply.better for reply in replies)
    reasons = tuple(reply.reasoning for reply in replies)
    return replace(row, outcome=outcome_of(better[0], better[-1]), better=better, reasons=reasons)
