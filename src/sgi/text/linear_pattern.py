r"""Regular expressions of a small syntax, matched in linear time.

A pattern from a user must not stop a run, and Python's `re` needs exponential time for patterns such as
``(a+)+b``. This module simulates an automaton instead (Thompson, 1968, "Regular expression search
algorithm"), so the time of a match is proportional to the length of the text.

The syntax: characters, ``.``, ``\d \w \s``, escapes, ``[a-z]``, ``[^a-z]``, groups, ``|``, ``* + ?`` and
``{m}``, ``{m,}``, ``{m,n}``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PATTERN = 200
"""Maximum number of characters of a pattern."""

MAX_MATCH = 100
"""Maximum number of characters of a match."""

_MAX_STATES = 2_000
_MAX_DEPTH = 20
_SPECIAL = frozenset("\\[](){}|*+?.^$")
_CLASSES = {"d": r"\d", "w": r"\w", "s": r"\s"}
_SET = re.compile(r"\[\^?(?:\\.|[^\\\[\]])+\]")
_REPEAT = re.compile(r"\{(\d{1,3})(,)?(\d{1,3})?\}")


class _Part(NamedTuple):
    """A part of the automaton: its first state, and the state after it."""

    first: int
    last: int


@dataclass(frozen=True, eq=False)
class LinearPattern:
    """A compiled pattern.

    Raises:
        ValueError: the pattern is empty, too long, matches the empty text, or has another syntax.

    >>> pattern = LinearPattern("[a-z]+-[0-9]+")
    >>> pattern.matches("doc-12"), pattern.matches("doc-")
    (True, False)
    >>> [(text := "see doc-12, x-1."), *(text[start:end] for start, end in pattern.spans(text))][1:]
    ['doc-12', 'x-1']
    """

    text: str
    _characters: dict[int, tuple[re.Pattern[str], int]] = field(default_factory=dict, repr=False)
    _empty: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list), repr=False)
    _steps: dict[tuple[frozenset[int], str], frozenset[int]] = field(default_factory=dict, repr=False)
    _ends: list[int] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if not 0 < len(self.text) <= MAX_PATTERN:
            raise ValueError(f"a pattern must have from 1 to {MAX_PATTERN} characters")
        parser = _Parser(self.text, self._characters, self._empty)
        part = parser.parse()
        self._ends.extend((part.first, part.last))
        if self.matches(""):
            raise ValueError(f"the pattern {self.text!r} must not match an empty text")

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text."""
        return len(text) <= MAX_MATCH and self._longest(text, 0) == len(text)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the longest matches from left to right that are not inside a longer word."""
        at = 0
        while at < len(text):
            inside = at > 0 and _is_word(text[at - 1]) and _is_word(text[at])
            end = None if inside else self._longest(text, at, whole_words=True)
            if end is None:
                at += 1
            else:
                yield at, end
                at = end

    def _longest(self, text: str, start: int, *, whole_words: bool = False) -> int | None:
        states = self._closure({self._ends[0]})
        longest = start if self._ends[1] in states else None
        for at in range(start, min(len(text), start + MAX_MATCH)):
            states = self._step(states, text[at])
            if not states:
                break
            ends_word = at + 1 == len(text) or not (_is_word(text[at]) and _is_word(text[at + 1]))
            if self._ends[1] in states and (ends_word or not whole_words):
                longest = at + 1
        return longest

    def _step(self, states: frozenset[int], character: str) -> frozenset[int]:
        key = (states, character)
        if key not in self._steps:
            if len(self._steps) >= _MAX_STATES:
                self._steps.clear()
            reached = {
                self._characters[state][1]
                for state in states
                if state in self._characters and self._characters[state][0].fullmatch(character)
            }
            self._steps[key] = self._closure(reached)
        return self._steps[key]

    def _closure(self, states: set[int]) -> frozenset[int]:
        """Add the states that are reached without a character."""
        waiting = list(states)
        while waiting:
            for state in self._empty.get(waiting.pop(), ()):
                if state not in states:
                    states.add(state)
                    waiting.append(state)
        return frozenset(states)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


@dataclass(eq=False)
class _Parser:
    """Builds the automaton of a pattern; recursive descent."""

    pattern: str
    characters: dict[int, tuple[re.Pattern[str], int]]
    empty: defaultdict[int, list[int]]
    at: int = 0
    states: int = 0
    depth: int = 0

    def parse(self) -> _Part:
        part = self._alternatives()
        if self.at < len(self.pattern):
            raise self._error(f"unexpected {self.pattern[self.at]!r}")
        return part

    def _error(self, problem: str) -> ValueError:
        return ValueError(f"the pattern {self.pattern!r} has an error at character {self.at + 1}: {problem}")

    def _state(self) -> int:
        self.states += 1
        if self.states > _MAX_STATES:
            raise self._error("too many repetitions")
        return self.states

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _alternatives(self) -> _Part:
        branches = [self._sequence()]
        while self._next() == "|":
            self.at += 1
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        whole = _Part(self._state(), self._state())
        for branch in branches:
            self.empty[whole.first].append(branch.first)
            self.empty[branch.last].append(whole.last)
        return whole

    def _sequence(self) -> _Part:
        first = last = self._state()
        while self._next() not in {"", "|", ")"}:
            part = self._repeated()
            self.empty[last].append(part.first)
            last = part.last
        return _Part(first, last)

    def _repeated(self) -> _Part:
        begin = self.at
        part = self._atom()
        fewest, most = self._quantifier()
        if self._next() in {"*", "+", "?", "{"}:
            raise self._error("a quantifier must follow a character, a class or a group")
        if (fewest, most) == (1, 1):
            return part
        end = self.at
        whole = _Part(self._state(), self._state())
        last = whole.first
        for number in range(max(1, fewest, most or 1)):
            if number:
                self.at = begin
                part = self._atom()
            self.empty[last].append(part.first)
            if number >= fewest:
                self.empty[part.first].append(part.last)
            last = part.last
        if most is None:
            self.empty[part.last].append(part.first)
        self.empty[last].append(whole.last)
        self.at = end
        return whole

    def _quantifier(self) -> tuple[int, int | None]:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if self._next() in simple:
            self.at += 1
            return simple[self.pattern[self.at - 1]]
        if self._next() != "{":
            return 1, 1
        match = _REPEAT.match(self.pattern, self.at)
        if match is None:
            raise self._error("write {m}, {m,} or {m,n}")
        self.at = match.end()
        fewest = int(match[1])
        most = int(match[3]) if match[3] else (None if match[2] else fewest)
        if most is not None and not max(1, fewest) <= most:
            raise self._error("the maximum must be at least 1 and at least the minimum")
        return fewest, most

    def _atom(self) -> _Part:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            match = _SET.match(self.pattern, self.at)
            if match is None:
                raise self._error("unfinished class")
            self.at = match.end()
            return self._character(match[0])
        if character == "\\":
            escaped = self.pattern[self.at + 1 : self.at + 2]
            if not escaped or (escaped.isalnum() and escaped not in _CLASSES):
                raise self._error("unknown escape")
            self.at += 2
            return self._character(_CLASSES.get(escaped, re.escape(escaped)))
        if character in _SPECIAL - {"."}:
            raise self._error(f"unexpected {character!r}")
        self.at += 1
        return self._character("." if character == "." else re.escape(character))

    def _group(self) -> _Part:
        self.at += 3 if self.pattern.startswith("(?:", self.at) else 1
        if self._next() == "?":
            raise self._error("only groups ( ) and (?: ) are possible")
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self._error("too many nested groups")
        part = self._alternatives()
        if self._next() != ")":
            raise self._error("a group is not closed")
        self.at += 1
        self.depth -= 1
        return part

    def _character(self, expression: str) -> _Part:
        try:
            pattern = re.compile(expression)
        except re.error as error:
            raise self._error(str(error)) from error
        part = _Part(self._state(), self._state())
        self.characters[part.first] = (pattern, part.last)
        return part
