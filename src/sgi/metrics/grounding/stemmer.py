"""The English stemmer of the library snowballstemmer, with a faster search for endings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from snowballstemmer.english_stemmer import EnglishStemmer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Entry(Protocol):
        """An entry of a table of the library: a part of a word, and the number of the rule for it."""

        s: str
        result: int


class _Table(NamedTuple):
    """A table of the library: its parts of words, the rule for each, longest first, and that for no part."""

    parts: tuple[str, ...]
    rules: tuple[tuple[str, int], ...]
    otherwise: int

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> _Table:
        rules = {entry.s: entry.result for entry in entries}
        otherwise = rules.pop("", 0)
        parts = tuple(sorted(rules, key=len, reverse=True))
        return cls(parts, tuple((part, rules[part]) for part in parts), otherwise)


class FastStemmer(EnglishStemmer):  # type: ignore[misc]  # the library has no types
    """The stemmer of the library, in half the time: it compares endings as texts, not letter by letter.

    >>> FastStemmer().stemWord("relational")
    'relat'
    """

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[int, _Table] = {}

    def find_among(self, v: Sequence[Entry]) -> int:
        """Move over the longest part that begins at the cursor; return the number of its rule."""
        table = self._table(v)
        if self.current.startswith(table.parts, self.cursor, self.limit):
            for part, rule in table.rules:
                if self.current.startswith(part, self.cursor, self.limit):
                    self.cursor += len(part)
                    return rule
        return table.otherwise

    def find_among_b(self, v: Sequence[Entry]) -> int:
        """Move back over the longest part that ends at the cursor; return the number of its rule."""
        table = self._table(v)
        if self.current.endswith(table.parts, self.limit_backward, self.cursor):
            for part, rule in table.rules:
                if self.current.endswith(part, self.limit_backward, self.cursor):
                    self.cursor -= len(part)
                    return rule
        return table.otherwise

    def _table(self, entries: Sequence[Entry]) -> _Table:
        table = self._tables.get(id(entries))
        if table is None:
            table = self._tables[id(entries)] = _Table.of(entries)
        return table
