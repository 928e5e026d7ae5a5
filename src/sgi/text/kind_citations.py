"""Finds citations that name passages by kind and id, such as ``[Data: Reports (2, 7, +more); Sources (15)]``.

The prompts of GraphRAG 3.3.0 ask for this form. Models also write ``(Data: Reports (2))``,
``[^Data: Report 2]`` and the like. The id of a passage is then ``KIND:ID``, such as ``report:2``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

PASSAGE_KINDS = ("report", "entity", "relationship", "claim", "source")
"""The kinds of passages of GraphRAG, in the singular."""

MAX_CITATION = 2000
"""Maximum number of characters of a citation."""

MAX_RANGE = 50
"""A range of more numbers, such as ``100-900``, names no passages."""

_NOT_A_PASSAGE = ("general knowledge",)  # what a prompt of GraphRAG has models cite for other knowledge
# Possessive quantifiers: a bracket is read once, and never again in parts.
_START = rf"(?=[\^*_\s]{{0,4}}(?:data|{'|'.join(kind[:-1] for kind in PASSAGE_KINDS)}))"
_INNER = r"\([^\[\]()\n]*+\)|\[[^\[\]()\n]*+\]|\([^\[\]()\n]*+(?=\])"
_BRACKET = re.compile(
    rf"\[{_START}((?:[^\[\]()\n]++|{_INNER})++)\]"
    rf"|\({_START}((?:[^\[\]()\n]++|{_INNER})++)\)"
    rf"|【{_START}((?:[^【】()\n]++|{_INNER})++)】",
    re.IGNORECASE,
)
_PLAIN = str.maketrans({"*": "", "\\": "", "[": "(", "]": ")"})
_AROUND = (("\\", ""), ("[", "]"), ("(", ")"), ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"))
_NAME = re.compile(r"([^\W\d_][\w -]{1,40}):(?!//)(.+)", re.DOTALL)
_PREFIX = re.compile(r"\^?\s?data\s?:\s?", re.IGNORECASE)
_NUMBER = r"#?\d+(?:\s?[-\u2013]\s?\d+)?"
_NUMBERS = rf"{_NUMBER}(?:\s?(?:,|&|and\b)\s?(?:{_NUMBER}|\+\s?more\b))*+"
_ONLY_NUMBERS = re.compile(_NUMBERS, re.IGNORECASE)
_GROUP = re.compile(
    r"(?:[,;&]\s?)?(?:and\b\s?)?(?P<kind>[^\W\d_][\w -]{0,40}?)\s?[:#]?\s?"
    rf"(?:\((?P<ids>[^()]*)\)?|(?P<numbers>{_NUMBERS}))\s?",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[,;&]|\band\b", re.IGNORECASE)
_RANGE = re.compile(r"(\d{1,9})\s?[-\u2013]\s?(\d{1,9})")
_MORE = re.compile(r"\+?\s?more|\u2026|\.\.\.|etc\.?", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


class KindCitation(NamedTuple):
    """A citation: its span in the text, and the ids that it names, such as ``report:2``."""

    start: int
    end: int
    targets: tuple[str, ...]


def kind_and_id(name: str) -> tuple[str, str] | None:
    """Return the kind, in lower case and singular, and the id of a name ``KIND:ID``; None for another name.

    >>> kind_and_id("Entities:5"), kind_and_id("report:2"), kind_and_id("page-2"), kind_and_id("http://a.b")
    (('entity', '5'), ('report', '2'), None, None)
    """
    match = _NAME.fullmatch(name)
    return None if match is None else (_singular(match[1]), match[2])


def kinds_of(ids: Collection[str]) -> frozenset[str]:
    """Return those of `PASSAGE_KINDS` that the ids have.

    >>> sorted(kinds_of(["report:1", "report:2", "source:1", "https://example.org", "7"]))
    ['report', 'source']
    """
    pairs = map(kind_and_id, ids)
    return frozenset(pair[0] for pair in pairs if pair is not None).intersection(PASSAGE_KINDS)


def find_kind_citations(text: str, ids: Collection[str] = ()) -> Iterator[KindCitation]:
    """Yield the citations that name passages by kind and id, in order.

    Without ``Data:``, as in ``[Reports (2)]``, a bracket is a citation only if ``ids`` have a kind of
    `PASSAGE_KINDS`. Emphasis and a second bracket around it are a part of the citation.

    Args:
        text: the text.
        ids: the ids of the passages.

    >>> [(text := "It is old [Data: Reports (2, 7, +more); Entity (5)]."), *find_kind_citations(text)][1:]
    [KindCitation(start=10, end=51, targets=('report:2', 'report:7', 'entity:5'))]
    """
    kinds = kinds_of(ids)
    if not kinds and "data" not in text.casefold():
        return
    for match in _BRACKET.finditer(text):
        if match.end() - match.start() <= MAX_CITATION:
            content = _SPACES.sub(" ", match[match.lastindex or 0]).partition("†")[0].strip()
            targets = () if content in ids else _targets(content.translate(_PLAIN), kinds)
            if targets:
                yield KindCitation(*_with_marks(text, *match.span()), targets)


def _targets(content: str, kinds: frozenset[str]) -> tuple[str, ...]:
    """Return the ids that the content of a bracket names; empty if it is not a citation."""
    prefix = _PREFIX.match(content)
    if prefix is None and not kinds:
        return ()
    at, targets, named = prefix.end() if prefix else 0, dict[str, None](), set[str]()
    if kinds and _ONLY_NUMBERS.fullmatch(content, at):
        kind = f"{next(iter(kinds))}:" if len(kinds) == 1 else ""
        return tuple(dict.fromkeys(f"{kind}{number}" for number in _ids(content[at:])))
    while at < len(content):
        group = _GROUP.match(content, at)
        if group is None:
            return ()
        kind = _singular(group["kind"])
        named.add(kind)
        ids = _ids(group["numbers"] if group["ids"] is None else group["ids"])
        targets |= dict.fromkeys(f"{kind}:{each}" for each in ids)
        at = group.end()
    known = named.intersection([*PASSAGE_KINDS, *_NOT_A_PASSAGE])
    return tuple(targets) if known and (prefix or known == named) else ()


def _ids(listed: str) -> Iterator[str]:
    """Yield the ids of a list such as ``2, 7-9, +more``."""
    for part in map(str.strip, _SEPARATOR.split(listed)):
        numbers = _RANGE.fullmatch(part)
        if numbers and 0 <= int(numbers[2]) - int(numbers[1]) < MAX_RANGE:
            yield from map(str, range(int(numbers[1]), int(numbers[2]) + 1))
        elif part and not _MORE.fullmatch(part):
            yield part.lstrip("#")


def _singular(kind: str) -> str:
    name = kind.strip().casefold()
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def _with_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span with the backslash, brackets and emphasis around it."""
    for before, after in _AROUND:
        if text.endswith(before, 0, start) and text.startswith(after, end):
            start, end = start - len(before), end + len(after)
    return start, end
