"""A perturbation: one named change of a row, and the reaction required of a metric of groundedness."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, TypeVar

from sgi.kernel.sample import Field
from sgi.kernel.signature import digest
from sgi_lab.metric_bench.capital_names import sure_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sgi.kernel.sample import Sample

    Change = Callable[[Sample, Random, "Others"], "Sample | None"]

T = TypeVar("T")


class Kind(StrEnum):
    """Required reaction of a metric of groundedness to a change of a grounded row."""

    ERROR = "error"
    """The answer is no longer supported: the score must get worse."""
    HARMLESS = "harmless"
    """The meaning is the same: the score must not change."""
    SUPPORTED = "supported"
    """The new answer is surely supported by the passages: the score must not get worse."""
    OTHER = "other"
    """No requirement; the reaction is reported."""
    JUDGE_FAULT = "judge fault"
    """The judge's reply is faulty: there must be no value, or the original one."""


class Others:
    """Other rows of the data, whose passages, names and sentences perturbations copy.

    They share neither question nor passage with the row. Their random order does not depend on the order of
    the given rows.

    >>> from sgi.kernel.sample import Sample
    >>> rows = [Sample(id=name, question=name, contexts=(f"about {name}",)) for name in "ab"]
    >>> [other.id for other in Others(rows).unrelated_rows(rows[0], Random(0))]
    ['b']
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._rows = sorted(samples, key=lambda sample: sample.id)
        self._names: dict[str, tuple[str, ...]] = {}

    def unrelated_rows(self, sample: Sample, draw: Random) -> Iterator[Sample]:
        """Yield the rows that share neither question nor passage with this one, from a random row on."""
        if not self._rows:
            return
        first = draw.randrange(len(self._rows))
        question, passages = sample.question.strip(), frozenset(sample.contexts)
        for other in (*self._rows[first:], *self._rows[:first]):
            unrelated = other.id != sample.id and passages.isdisjoint(other.contexts)
            if unrelated and not (question and question == other.question.strip()):
                yield other

    def names(self, other: Sample) -> tuple[str, ...]:
        """Return the reliable names in a row's answer and passages, the answer's first."""
        if other.id not in self._names:
            texts = (other.response, *other.contexts)
            self._names[other.id] = tuple(dict.fromkeys(name for text in texts for name in sure_names(text)))
        return self._names[other.id]


@dataclass(frozen=True)
class Perturbation:
    """One named change of a row.

    Attributes:
        name: unique name.
        kind: the required reaction.
        changes: the fields it changes.
        says: description of the change, one sentence.
        change: pure function of row, random generator and other rows; returns the changed row, or None if the
            change does not apply.
    """

    name: str
    kind: Kind
    changes: frozenset[Field]
    says: str
    change: Change = field(repr=False)

    def apply(self, sample: Sample, others: Others, *, seed: int) -> Sample | None:
        """Return the changed row with the same id, or None if the change does not apply or changes nothing.

        Random choices depend on seed, row and perturbation alone.
        """
        if not sample.response.strip() or (Field.CONTEXTS in self.changes and not sample.contexts):
            return None
        key = digest(str(seed).encode(), self.name.encode(), sample.id.encode("utf-8", "surrogatepass"))
        response = self.change(sample, Random(int.from_bytes(key, "big")), others)
        if response is None or (response.response, response.contexts) == (sample.response, sample.contexts):
            return None
        return response


def perturbation(kind: Kind, changes: frozenset[Field]) -> Callable[[Change], Perturbation]:
    """Decorator that makes a function a `Perturbation` with the function's name and docstring.

    >>> from sgi.kernel.sample import RESPONSE, Sample
    >>> @perturbation(Kind.HARMLESS, RESPONSE)
    ... def shout(sample, _draw, _others):
    ...     "In capitals."
    ...     return sample.with_response(sample.response.upper())
    >>> shout.says, shout.apply(Sample(id="1", response="Paris."), Others([]), seed=0).response
    ('In capitals.', 'PARIS.')
    """
    return lambda change: Perturbation(change.__name__, kind, changes, change.__doc__ or "", change)


def shuffle(things: Iterable[T], draw: Random) -> list[T]:
    """Return the items in random order.

    >>> shuffle("abc", Random(1))
    ['b', 'c', 'a']
    """
    items = list(things)
    draw.shuffle(items)
    return items
