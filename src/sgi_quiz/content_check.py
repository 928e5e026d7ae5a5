"""Read all passages again, and drop questions that something in the documents makes wrong or ambiguous."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from rapidfuzz.distance import OSA

from sgi.metrics.grounding.words import distinct_stems, fold
from sgi_quiz.parsing import content_stems
from sgi_quiz.question import Kind, Question

if TYPE_CHECKING:
    from sgi_quiz.passages import Passage

WINDOW = 12
"""An attribute counts as near a name if it is at most this many passages away in the same file."""
_NEAR_LETTERS = 6
_CODE_WORD = re.compile(r"-{0,2}\w+(?:[-_]\w+)+")


@dataclass(frozen=True, eq=False)
class Absence:
    """A question about a name, and the beginnings of the words that may not be near the name."""

    question: Question
    is_person: bool
    cues: tuple[str, ...]


@dataclass(eq=False)
class _Probe:
    """A name with an attribute that no passage near it may mention."""

    question: Question
    names: frozenset[str]
    least: int
    last_name: tuple[str, int] = ("", -WINDOW - 1)
    last_cue: tuple[str, int] = ("", -WINDOW - 1)


@dataclass(frozen=True, eq=False)
class _Claim:
    """Words that make a passage a second answer, or that say what a question has as a wrong value."""

    question: Question
    needed: frozenset[str]
    value: str
    drops_if: bool

    def is_refuted_by(self, passage: Passage) -> bool:
        """Return whether another passage has the value, or has another one."""
        if any(passage.text == one.text for one in self.question.passages):
            return False
        return (self.value in fold(passage.plain)) is self.drops_if


@dataclass(eq=False)
class ContentCheck:
    """Finds the questions that the documents refute, one passage after the other.

    A question without an answer is dropped if its attribute, or a word that begins with the same letters or
    differs in one letter, is at most `WINDOW` passages away from its name. A question with an answer is
    dropped if another passage has all its content words, and not the answer. A wrong value is dropped if a
    passage has it beside the name.

    Attributes:
        dropped: the ids of the questions that were refuted.
    """

    dropped: set[str] = field(default_factory=set)
    _probes: dict[str, list[_Probe]] = field(default_factory=lambda: defaultdict(list))
    _cues: dict[str, list[_Probe]] = field(default_factory=lambda: defaultdict(list))
    _names: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _claims: dict[str, list[_Claim]] = field(default_factory=lambda: defaultdict(list))

    def watch(self, question: Question, wrong_value: str = "") -> None:
        """Check a question with an answer, or one with a wrong value in it."""
        if wrong_value:
            self._claim(_Claim(question, content_stems(question.topic), fold(wrong_value), drops_if=True))
        if (
            question.reference is not None
            and question.kind is Kind.FACT
            and question.asks_for != "definition"
        ):
            reference = fold(question.reference.removeprefix("No, "))
            self._claim(_Claim(question, content_stems(question.text), reference, drops_if=False))

    def is_right(self, question: Question) -> bool:
        """Return whether nothing refutes a question, or one that it is made of."""
        return question.id not in self.dropped and all(map(self.is_right, question.parents))

    def _claim(self, claim: _Claim) -> None:
        if claim.needed:
            self._claims[max(claim.needed, key=lambda stem: (len(stem), stem))].append(claim)

    def watch_absence(self, absence: Absence) -> None:
        """Check a question that the documents must not answer."""
        names = content_stems(absence.question.topic)
        probe = _Probe(absence.question, names, 1 if absence.is_person else (len(names) + 1) // 2)
        for name in names:
            self._probes[name].append(probe)
        for cue in absence.cues:
            self._cues[cue].append(probe)

    def watch_name(self, question: Question, name: str) -> None:
        """Check a question about a name that the documents must not have."""
        self._names[name].append(question.id)

    def read(self, passage: Passage) -> None:
        """Check all questions against a passage."""
        stems = distinct_stems(" ".join((*passage.headings, passage.plain)))
        self._check_claims(passage, stems)
        self._check_absences(passage, stems)
        if self._names:
            for word in {*_CODE_WORD.findall(fold(passage.plain))}:
                for name in _near_code(word, self._absent_words):
                    self.dropped.update(self._names[name])

    def _check_claims(self, passage: Passage, stems: frozenset[str]) -> None:
        for stem in stems & self._claims.keys():
            for claim in self._claims[stem]:
                if claim.needed <= stems and claim.is_refuted_by(passage):
                    self.dropped.add(claim.question.id)

    def _check_absences(self, passage: Passage, stems: frozenset[str]) -> None:
        place = passage.source, passage.number
        found: dict[_Probe, int] = defaultdict(int)
        cued: set[_Probe] = set()
        for stem in stems:
            for name in self._near_names(stem):
                for probe in self._probes[name]:
                    found[probe] += 1
            for cue in self._near_cues(stem):
                cued.update(self._cues[cue])
        for probe, number in found.items():
            if number >= probe.least:
                probe.last_name = place
                if _is_near(probe.last_cue, place) or probe in cued:
                    self.dropped.add(probe.question.id)
        for probe in cued:
            probe.last_cue = place
            if _is_near(probe.last_name, place):
                self.dropped.add(probe.question.id)

    def _near_names(self, stem: str) -> tuple[str, ...]:
        return _near(stem, self._probe_words, prefix=False)

    def _near_cues(self, stem: str) -> tuple[str, ...]:
        return _near(stem, self._cue_words, prefix=True)

    # One tuple for all passages: the caches of the functions that take it keep it.
    @cached_property
    def _absent_words(self) -> tuple[str, ...]:
        return (*self._names,)

    @cached_property
    def _probe_words(self) -> tuple[str, ...]:
        return (*self._probes,)

    @cached_property
    def _cue_words(self) -> tuple[str, ...]:
        return (*self._cues,)


def _is_near(earlier: tuple[str, int], place: tuple[str, int]) -> bool:
    return earlier[0] == place[0] and place[1] - earlier[1] <= WINDOW


@lru_cache(maxsize=1 << 15)
def _near_code(word: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that a word has in it, or that differ from it in at most two letters."""
    return tuple(name for name in names if name in word or OSA.distance(word, name, score_cutoff=2) <= 2)


@lru_cache(maxsize=1 << 17)
def _near(stem: str, words: tuple[str, ...], *, prefix: bool) -> tuple[str, ...]:
    """Return the words that a stem equals, begins with, or differs from in one letter."""
    return tuple(
        word
        for word in words
        if stem == word
        or (prefix and len(word) > 3 and stem.startswith(word))
        or (len(word) >= _NEAR_LETTERS and OSA.distance(stem, word, score_cutoff=1) <= 1)
    )
