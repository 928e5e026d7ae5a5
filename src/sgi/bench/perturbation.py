"""What a perturbation is: one named change of a row, and what a metric of groundedness has to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, TypeVar

from sgi.bench.names import sure_names
from sgi.kernel.sample import Field
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sgi.kernel.sample import Sample

    Change = Callable[[Sample, Random, "Others"], "Sample | None"]

T = TypeVar("T")


class Kind(StrEnum):
    """What a metric of groundedness has to do when a grounded row is changed so."""

    ERROR = "error"
    """The answer is no longer supported: the score must get worse."""
    HARMLESS = "harmless"
    """Nothing that is said or known has changed: the score must stay."""
    SUPPORTED = "supported"
    """The answer is replaced by one that its passages surely support: the score must not get worse."""
    OTHER = "other"
    """Nothing is demanded; what happens is reported."""
    JUDGE_FAULT = "judge fault"
    """The judge's reply is spoiled: there must be no value, or the one there was."""


class Others:
    """The other rows of the data, from which passages, names and sentences are borrowed.

    A row's lenders share neither question nor passage with it. Which come first is drawn; the order in which
    the rows were given makes no difference.

    Args:
        samples: all rows, the perturbed ones among them.

    >>> from sgi.kernel.sample import Sample
    >>> rows = [Sample(id=name, question=name, contexts=(f"about {name}",)) for name in "ab"]
    >>> [other.id for other in Others(rows).drawn(rows[0], Random(0))]
    ['b']
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._rows = sorted(samples, key=lambda sample: sample.id)
        self._names: dict[str, tuple[str, ...]] = {}

    def drawn(self, sample: Sample, draw: Random) -> Iterator[Sample]:
        """The rows that have nothing in common with this one, from a random one on."""
        if not self._rows:
            return
        first = draw.randrange(len(self._rows))
        asked, passages = sample.question.strip(), frozenset(sample.contexts)
        for other in (*self._rows[first:], *self._rows[:first]):
            strange = other.id != sample.id and passages.isdisjoint(other.contexts)
            if strange and not (asked and asked == other.question.strip()):
                yield other

    def names(self, other: Sample) -> tuple[str, ...]:
        """The names that surely are some in a row's answer and passages, the answer's first."""
        if other.id not in self._names:
            texts = (other.response, *other.contexts)
            self._names[other.id] = tuple(dict.fromkeys(name for text in texts for name in sure_names(text)))
        return self._names[other.id]


@dataclass(frozen=True)
class Perturbation:
    """One named change of a row.

    Attributes:
        name: by which it is chosen and reported.
        kind: what a metric of groundedness has to do.
        changes: what of the row it touches; empty where it touches the judge's reply.
        says: what it does, in a sentence.
        change: the row changed, or None where the change does not apply to it; a pure function of row, draws
            and other rows.

    >>> from sgi.kernel.sample import RESPONSE, Sample
    >>> shout = Perturbation("shout", Kind.HARMLESS, RESPONSE, "In capitals.",
    ...                      lambda sample, draw, others: sample.with_response(sample.response.upper()))
    >>> shout.applied(Sample(id="1", response="Paris."), Others([]), seed=0).response
    'PARIS.'
    """

    name: str
    kind: Kind
    changes: frozenset[Field]
    says: str
    change: Change = field(repr=False)

    def applied(self, sample: Sample, others: Others, *, seed: int) -> Sample | None:
        """The row changed; the draws depend on seed, row and perturbation alone.

        Args:
            sample: a row that is grounded.
            others: where passages, names and sentences are borrowed.
            seed: of all draws; equal input gives equal rows.

        Returns:
            The changed row with the id it had, or None where the change does not apply, or changes nothing.
        """
        if not sample.response.strip() or (Field.CONTEXTS in self.changes and not sample.contexts):
            return None
        key = digest(str(seed).encode(), self.name.encode(), sample.id.encode("utf-8", "surrogatepass"))
        response = self.change(sample, Random(int.from_bytes(key, "big")), others)  # noqa: S311 - draws, no secrets
        if response is None or (response.response, response.contexts) == (sample.response, sample.contexts):
            return None
        return response


def shuffled(things: Iterable[T], draw: Random) -> list[T]:
    """The things in random order.

    >>> shuffled("abc", Random(1))
    ['b', 'c', 'a']
    """
    listed = list(things)
    draw.shuffle(listed)
    return listed
