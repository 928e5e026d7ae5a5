"""Choose passages for a quiz while they stream, and choose different questions."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING

from sgi_quiz.parsing import content_stems
from sgi_quiz.question import Kind, Question

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi_quiz.passages import Passage

SHARES = {
    Kind.TWO_HOP: 0.08,
    Kind.COMPARISON: 0.08,
    Kind.FOLLOW_UP: 0.06,
    Kind.FALSE_PREMISE: 0.08,
    Kind.YES_NO: 0.12,
    Kind.UNANSWERABLE: 0.10,
    Kind.PARAPHRASE: 0.06,
    Kind.TYPOS: 0.05,
    Kind.FAQ: 0.2,
    Kind.FACT: 1.0,
}
"""The largest share of the rows of each kind; facts fill the rest."""
MAX_CLOSED = 0.3
"""The largest share of yes/no questions and comparisons, whose answers can be guessed."""
_ONCE_PER_TOPIC = {Kind.TWO_HOP, Kind.FOLLOW_UP, Kind.UNANSWERABLE, Kind.FALSE_PREMISE, Kind.YES_NO}
MAX_SIMILARITY = 0.6
MAX_PER_TOPIC = 3
MAX_PER_PASSAGE = 3


def stable_hash(seed: int, *parts: object) -> int:
    """Return a number that depends on the seed and the parts alone."""
    content = "\0".join(map(str, (seed, *parts)))
    return int.from_bytes(blake2b(content.encode("utf-8", "replace"), digest_size=8).digest(), "big")


class Reservoir:
    """Keeps the passages with the smallest hashes; each section comes once before any comes twice."""

    def __init__(self, size: int, seed: int) -> None:
        self._size, self._seed = size, seed
        self._heap: list[tuple[tuple[int, int], int, Passage]] = []
        self._section: tuple[object, ...] = ()
        self._waiting: list[tuple[int, Passage]] = []
        self._count = 0

    def add(self, passage: Passage) -> None:
        """Add the next passage; passages of a section follow each other."""
        section = passage.source, passage.headings
        if section != self._section:
            self._close()
            self._section = section
        self._waiting.append((stable_hash(self._seed, passage.source, passage.number, passage.text), passage))
        if len(self._waiting) > self._size:
            self._close()

    def _close(self) -> None:
        for rank, (key, passage) in enumerate(sorted(self._waiting, key=lambda pair: pair[0])):
            self._count += 1
            entry = ((-rank, -key), self._count, passage)
            if len(self._heap) < self._size:
                heapq.heappush(self._heap, entry)
            elif entry > self._heap[0]:
                heapq.heapreplace(self._heap, entry)
        self._waiting.clear()

    def passages(self) -> list[Passage]:
        """Return the passages, in the order of their ranks and hashes."""
        self._close()
        return [passage for _, _, passage in sorted(self._heap, key=lambda entry: entry[0], reverse=True)]


def _group(one: Question) -> Kind:
    """Return the kind whose questions must differ in words; yes/no and false premises test another thing."""
    return one.kind if one.kind in {Kind.YES_NO, Kind.FALSE_PREMISE} else Kind.FACT


class Selection:
    """Chooses questions of the wanted kinds that differ in topic, passage, document and words."""

    def __init__(self, number: int, seed: int, per_passage: int = MAX_PER_PASSAGE) -> None:
        self.chosen: list[Question] = []
        self._number, self._seed, self._per_passage = number, seed, per_passage
        self._counts: Counter[object] = Counter()
        self._stems: dict[Kind, list[frozenset[str]]] = defaultdict(list)

    def fill(self, kind: Kind, candidates: Iterable[Question], *, keep: int = 0) -> None:
        """Choose questions of one kind, up to its share, and leave ``keep`` rows for later kinds."""
        order = {one.id: one for one in candidates}
        waiting = sorted(order.values(), key=lambda one: stable_hash(self._seed, one.id))
        share = SHARES[kind]
        most = math.ceil(share * self._number)
        while waiting and self._counts[kind] < most and len(self.chosen) < self._number - keep:
            best = min(waiting, key=self._crowding)
            waiting.remove(best)
            if self._is_new(best):
                self._take(best)

    def _crowding(self, one: Question) -> tuple[int, int]:
        source = one.passages[0].source if one.passages else ""
        section = one.passages[0].place if one.passages else ""
        return self._counts["asks", one.kind, one.asks_for], self._counts["source", source] + self._counts[
            "section", section
        ]

    def _is_new(self, one: Question) -> bool:
        if one.same_as is not None:
            return self._counts["same", one.same_as.id] == 0
        if self._counts["topic", one.topic] >= MAX_PER_TOPIC:
            return False
        if one.kind in _ONCE_PER_TOPIC and self._counts["topic", one.kind, one.topic]:
            return False
        if any(self._counts["passage", passage.text] >= self._per_passage for passage in one.passages):
            return False
        if self._counts["text", one.text]:
            return False
        stems = content_stems(one.text)
        return bool(one.turns) or all(
            len(stems & other) < MAX_SIMILARITY * len(stems | other) for other in self._stems[_group(one)]
        )

    def _take(self, one: Question) -> None:
        self.chosen.append(one)
        keys: list[object] = [
            one.kind,
            ("topic", one.topic),
            ("topic", one.kind, one.topic),
            ("text", one.text),
            ("asks", one.kind, one.asks_for),
        ]
        keys += [("passage", passage.text) for passage in one.passages]
        if one.passages:
            keys += [("source", one.passages[0].source), ("section", one.passages[0].place)]
        if one.same_as is not None:
            keys.append(("same", one.same_as.id))
        else:
            self._stems[_group(one)].append(content_stems(one.text))
        self._counts.update(keys)

    def finished(self) -> list[Question]:
        """Return the chosen questions in a mixed order, without closed questions beyond their share."""
        closed = [one for one in self.chosen if one.kind in {Kind.YES_NO, Kind.COMPARISON}]
        rest = [one for one in self.chosen if one not in closed]
        most = int(len(rest) * MAX_CLOSED / (1 - MAX_CLOSED))
        return sorted([*rest, *closed[:most]], key=lambda one: stable_hash(self._seed, "order", one.id))
