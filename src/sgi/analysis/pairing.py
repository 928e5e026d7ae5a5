"""Pairs the rows of two runs by their ids, or by their texts if the data has no ids."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.kernel.errors import NotPairedError, UsageError
from sgi.kernel.row_keys import ABSENT
from sgi.kernel.short_text import pluralize
from sgi.kernel.signature import display_text, is_same_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.engine.run import Run
    from sgi.kernel.row_keys import RowKeys
    from sgi.kernel.sample import Sample

    Rows = NDArray[np.int64]

_SHOWN = 3
_LONGEST = 60


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows of two runs.

    ``first`` are row numbers of the base run, ascending; ``second`` are the row numbers of their partners.
    The keys cover all rows; None if the texts need no check or are not available. ``ambiguous`` counts
    the rows of each run that were left out because several rows could be their partner.
    """

    first: Rows
    second: Rows
    by: Literal["id", "content"]
    base_keys: RowKeys | None = None
    new_keys: RowKeys | None = None
    ambiguous: tuple[int, int] = (0, 0)


def pair_rows(base: Run, new: Run) -> Pairs:
    """Pair the rows of two runs.

    Runs over the same data, and runs without available texts, are paired by id. Other runs are paired by id
    if both have ids of their own, and each pair must have the same question. If the ids of one run are row
    numbers, and the other has the same ids with the same questions, as an export has, they are paired by id.
    Otherwise, if the ids of a run are only row numbers, rows are paired by content: by question; a question
    that repeats, by question and contexts; and if these repeat too, by response. Rows of which none is the
    only possible partner are left out. Rows without a question are paired by contexts; without these, by
    reference.

    Raises:
        NotPairedError: no row has a partner, or rows with the same id have different questions.
    """
    data, other = base.record.dataset, new.record.dataset
    if data and other and is_same_data(data, other):
        return _by_id(base, new)
    keys, others = base.row_keys, new.row_keys
    if keys is None or others is None:
        return _by_id(base, new)
    if base.numbered or new.numbered:
        exported = _by_exported_ids(base, new, keys, others) if base.numbered != new.numbered else None
        return exported or _by_content(base, new, keys, others)
    pairs = replace(_by_id(base, new), base_keys=keys, new_keys=others)
    _require_same_questions(base, new, pairs, keys, others)
    return pairs


def pairing_notes(base: Run, new: Run, pairs: Pairs) -> Iterator[str]:
    """Return notes on rows that were paired by content, or whose questions could not be compared."""
    if pairs.by == "content":
        numbered = " and ".join(run.name for run in (base, new) if run.numbered)
        yield f"The rows of {numbered} have no ids: rows were paired by their questions and contexts."
        if any(pairs.ambiguous):
            before, after = pairs.ambiguous
            yield (
                f"Left out: {before:,} of the rows of {base.name} and {after:,} of {new.name}. Their "
                "question and contexts repeat, and their response does not tell which row is the partner. "
                "Rows that are left out can be those that changed; to pair all rows, give them ids."
            )
    elif pairs.base_keys is not None and pairs.new_keys is not None:
        asked, asked_again = pairs.base_keys.question[pairs.first], pairs.new_keys.question[pairs.second]
        unknown = int(((asked == ABSENT) | (asked_again == ABSENT)).sum())
        if unknown:
            without = pluralize(unknown, "pair lacks", "pairs lack")
            yield f"{without} a question in a run: paired by id, without a check."


def _by_id(base: Run, new: Run) -> Pairs:
    rows = {sample_id: row for row, sample_id in enumerate(new.ids)}
    pairs = [(row, rows[sample_id]) for row, sample_id in enumerate(base.ids) if sample_id in rows]
    for run in (base, new):
        if not run.ids:
            raise NotPairedError(
                f"{run.name} has no scored rows.", hint="`sgi show RUN` says why it stopped."
            )
    if not pairs:
        hint = "Runs are compared row by row: score the same questions twice, or give equal rows equal ids."
        raise NotPairedError(f"{base.name} and {new.name} have no sample id in common.", hint=hint)
    first, second = np.array(pairs, dtype=np.int64).T
    return Pairs(first, second, "id")


def _by_exported_ids(base: Run, new: Run, keys: RowKeys, others: RowKeys) -> Pairs | None:
    """Pair a run whose ids are row numbers with one that has these ids as its own, as an export has them.

    None if they share no id, or if a pair does not have the same question.
    """
    if set(base.ids).isdisjoint(new.ids):
        return None
    pairs = replace(_by_id(base, new), base_keys=keys, new_keys=others)
    before, after = keys.question[pairs.first], others.question[pairs.second]
    return pairs if ((before == after) & (before != ABSENT)).all() else None


def _by_content(base: Run, new: Run, keys: RowKeys, others: RowKeys) -> Pairs:
    before, after = _rows_by_identity(keys.identity), _rows_by_identity(others.identity)
    pairs: list[tuple[int, int]] = []
    ambiguous = [0, 0]
    for identity in before.keys() & after.keys():
        rows, partners = before[identity], after[identity]
        if len(rows) == len(partners) == 1:
            pairs.append((rows[0], partners[0]))
            continue
        for same, others_of_same in _with_equal(keys.contexts, rows, others.contexts, partners):
            found = [(same[0], others_of_same[0])]
            if len(same) > 1 or len(others_of_same) > 1:
                equal = _with_equal(keys.responses, same, others.responses, others_of_same)
                found = [pair for one, other in equal for pair in zip(one, other, strict=False)]
                ambiguous[0] += len(same) - len(found)
                ambiguous[1] += len(others_of_same) - len(found)
            pairs += found
    if not pairs:
        problem = "have no question in common"
        if any(ambiguous):
            problem = "repeat all questions with the same contexts and have no equal responses"
        hint = "Rows without ids are paired by question, contexts or reference; give the rows ids."
        raise NotPairedError(f"{base.name} and {new.name} {problem}.", hint=hint)
    first, second = np.array(sorted(pairs), dtype=np.int64).T
    return Pairs(first, second, "content", keys, others, (ambiguous[0], ambiguous[1]))


def _rows_by_identity(identities: Iterable[tuple[str, int]]) -> dict[tuple[str, int], list[int]]:
    rows = defaultdict(list)
    for row, identity in enumerate(identities):
        if identity[1] != ABSENT:
            rows[identity].append(row)
    return rows


def _with_equal(
    keys: NDArray[np.uint64], rows: Sequence[int], others: NDArray[np.uint64], partners: Sequence[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the rows and the partners of each key that both have."""
    same: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row in rows:
        same[int(keys[row])][0].append(row)
    for partner in partners:
        same[int(others[partner])][1].append(partner)
    yield from ((one, other) for one, other in same.values() if one and other)


def _require_same_questions(base: Run, new: Run, pairs: Pairs, keys: RowKeys, others: RowKeys) -> None:
    """Raise a NotPairedError if pairs have different questions; it quotes some of them."""
    before, after = keys.question[pairs.first], others.question[pairs.second]
    wrong = np.flatnonzero((before != after) & (before != ABSENT) & (after != ABSENT))
    if not len(wrong):
        return
    some = wrong[:_SHOWN]
    samples = zip(read_samples(base, pairs.first[some]), read_samples(new, pairs.second[some]), strict=True)
    shown = "; ".join(
        f"{shorten(old.id)} is {shorten(old.question)!r} and {shorten(other.question)!r}"
        for old, other in samples
    )
    more = f"; and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
    raise NotPairedError(
        f"{len(wrong):,} of {pluralize(len(pairs.first), 'pair')} of {base.name} and {new.name} have the same"
        f" id but different questions: {shown}{more}.",
        hint="Give each question its own id in both files. Rows without ids are paired by their texts.",
    )


def read_samples(run: Run, rows: Rows) -> list[Sample]:
    """Return the samples of these rows; an empty list if the run's texts are not available."""
    return [] if run.read_samples is None else list(run.read_samples(rows.tolist()))


def shorten(text: str, longest: int = _LONGEST) -> str:
    r"""Shorten a text to one line of at most ``longest`` characters.

    >>> shorten("one\n two three", 8)
    'one two…'
    """
    line = " ".join(display_text(text)[: 4 * longest].split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def pair_weights(before: Run, after: Run) -> NDArray[np.float64] | None:
    """Return the weight of each pair; raise UsageError if the runs give a pair different weights."""
    if before.weights is None and after.weights is None:
        return None
    if before.weights is None or after.weights is None:
        one, other = (before, after) if after.weights is None else (after, before)
        message = f"{other.name} has weights of its rows, {one.name} has none."
        raise UsageError(message, hint="Read both runs with the same `weights`.")
    different = np.flatnonzero(before.weights != after.weights)
    if len(different):
        row = before.ids[different[0]]
        rows = pluralize(len(different), "row has", "rows have")
        message = f"{rows} different weights in {before.name} and {after.name}: {row} …"
        raise UsageError(message, hint="Compare runs with equal weights, or without weights.")
    return before.weights
