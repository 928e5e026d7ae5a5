"""Checks the facts of a sentence against passages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from sgi.metrics.grounding.cells import have_tables
from sgi.metrics.grounding.clauses import Roles, stems_in
from sgi.metrics.grounding.conflicts import cell_of_another, other_value, value_of_another
from sgi.metrics.grounding.facts import ORDINAL, Fact, Name, Quantity, Statement, overlaps
from sgi.metrics.grounding.language_tables import AnalysedText, has_aside
from sgi.metrics.grounding.names_in_text import name_support, names_of, other_first_name
from sgi.metrics.grounding.polarity import denied_attribute, opposite
from sgi.metrics.grounding.value_support import value_support, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.value_support import Match

_TEXT_PARTS = frozenset({"passag", "excerpt", "word", "sentenc", "paragraph"})  # "in 42 words"
_FEW = 2
_MOST_FACTS = 200  # of a sentence; the checks of more take too long
_MIN_COPY = 4  # words
_VERB_ENDS = ("ing", "ize", "ise")


class Verdict(StrEnum):
    """Whether the passages support a fact."""

    SUPPORTED = "supported"
    ABSENT = "absent"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Check:
    """A fact with its verdict.

    Attributes:
        passage: index of the passage that supports or contradicts the fact; None if no passage does.
        found: the words of the passage that state or contradict the fact; "" if no single part does.
        start: start of ``found`` in the passage, or None.
        end: end of ``found`` in the passage, or None.
        how: the rule that gave the verdict: "equal", "rounded", "converted", "5 + 3", "question" …; "" if
            absent.
    """

    fact: Fact
    verdict: Verdict
    passage: int | None = None
    found: str = ""
    start: int | None = None
    end: int | None = None
    how: str = ""

    @classmethod
    def of(cls, fact: Fact, verdict: Verdict, passage: int | None, match: Match) -> Check:
        """Return a check with the place of a match, if it has one."""
        if passage is None or not match.text:
            return cls(fact, verdict, passage, how=match.how)
        return cls(fact, verdict, passage, match.text, match.start, match.end, match.how)


def check_facts(sentence: str, passages: Sequence[str], question: str = "") -> tuple[Check, ...]:
    """Check the numbers, dates, identifiers, names and the polarity of a sentence against passages.

    Rules, in this order:

    1. If a passage contains the whole sentence word for word, all facts of the sentence are supported.
    2. A value that a passage states or implies in one step (a conversion, a difference) is supported, unless
       the passage has it for another thing than the sentence and the question.
    3. A value is contradicted if a passage has another one in its place.
    4. A value that the question states is supported. Any other is absent.
    5. A name is supported if a passage or the question has all its words, or its last word alone; it is
       contradicted if they have its last word only with another first name; otherwise it is absent.
    6. A sentence is contradicted if a passage has the same clause with or without a negation.

    At most 200 facts of a sentence are checked. The texts are read by the rules of their language
    (`AnalysedText.language`); a plain str is English.

    >>> passages = ["The tower is 330 m tall.", "Gustave Eiffel's firm built it from 1887 to 1889."]
    >>> sentence = "The tower is 312 m tall. Alexandre Eiffel built it in two years."
    >>> for check in check_facts(sentence, passages):
    ...     print(check.fact.text, check.verdict, check.found, check.how, sep=" | ")
    312 m | contradicted | 330 m | other value
    Alexandre Eiffel | contradicted | Gustave Eiffel | other name
    two years | supported | 1887, 1889 | 1889 - 1887
    """
    sentence = AnalysedText.of(sentence)
    question = AnalysedText.of(question, sentence.language)
    texts = [AnalysedText.of(passage) for passage in passages]
    facts = facts_of(sentence)
    copy = _verbatim_copy(sentence, facts, texts)
    denied = opposite(sentence, texts) or denied_attribute(sentence, texts)
    if copy is not None and denied is None:
        number, start = copy
        return tuple(
            Check(fact, Verdict.SUPPORTED, number, fact.text, fact.start + start, fact.end + start, "copied")
            for fact in facts
        )
    roles, facts = Roles(texts), facts[:_MOST_FACTS]
    checks = [
        _check_name(sentence, fact, texts, question)
        if isinstance(fact, Name)
        else _check_value(sentence, fact, texts, question, roles)
        for fact in facts
    ]
    checks = [check for check in checks if not _is_vague(check)]
    if denied is not None:
        statement = Statement(str(sentence), 0, len(sentence))
        checks.append(Check.of(statement, Verdict.CONTRADICTED, *denied))
    return tuple(checks)


def facts_of(sentence: str) -> tuple[Fact, ...]:
    """Return the facts of a sentence in order; a number inside a name belongs to the name.

    >>> [fact.text for fact in facts_of("In May 2001 he sold 5 copies of GPT-4 to Ada Byron.")]
    ['May 2001', '5', 'GPT-4', 'Ada Byron']
    """
    values, names = values_of(sentence), names_of(sentence)
    measures = [
        *(number for number in values.quantities if number.noun not in _TEXT_PARTS),
        *values.dates,
        *values.identifiers,
    ]
    measures = [fact for fact in measures if not any(_is_bare_in(fact, name) for name in names)]
    taken = sorted((fact.start, fact.end) for fact in measures)
    own = [name for name in names if not overlaps(name.start, name.end, taken)]
    return tuple(sorted([*measures, *own], key=lambda fact: (fact.start, fact.end)))


def _is_bare_in(fact: Fact, name: Name) -> bool:
    bare = isinstance(fact, Quantity) and (not fact.units or fact.units[0] == ORDINAL)
    return bare and name.start <= fact.start and fact.end <= name.end


def _verbatim_copy(sentence: str, facts: Sequence[Fact], passages: Sequence[str]) -> tuple[int, int] | None:
    """Find the first passage that contains the sentence, with the same facts; a value alone is not a copy."""
    if len(sentence.split()) < _MIN_COPY:
        return None
    for number, passage in enumerate(passages):
        start = passage.find(sentence)
        if start < 0:
            continue
        places = {(fact.start, fact.end) for fact in facts_of(passage)} if facts else set()
        if all((fact.start + start, fact.end + start) in places for fact in facts):
            return number, start
    return None


def _check_name(sentence: str, name: Name, passages: Sequence[str], question: str) -> Check:
    found = name_support(name, passages, question)
    if found is None and _opens_with_verb(name, passages):
        found = name_support(replace(name, words=name.words[1:]), passages, question)
    if found is not None:
        label = _label_of_another(sentence, name, passages, question)
        return Check.of(name, Verdict.CONTRADICTED if label else Verdict.SUPPORTED, *(label or found))
    for number, passage in enumerate(passages):
        other = other_first_name(name, passage)
        if other is not None:
            return Check.of(name, Verdict.CONTRADICTED, number, other)
    return Check(name, Verdict.ABSENT)


def _label_of_another(
    sentence: str, name: Name, passages: Sequence[str], question: str
) -> tuple[int, Match] | None:
    """Return what a table has instead of a name, or its value if the question states another one."""
    if not have_tables(passages) or has_aside(sentence) or has_aside(question):
        return None
    around = stems_in(sentence, 0, name.start) | stems_in(sentence, name.end, len(sentence))
    statements = [around, around | stems_in(question, 0, len(question))]
    other = cell_of_another(name, passages, statements)
    if other is not None or any(values_of(sentence)):
        return other
    words = [stems_in(sentence, name.start, name.end)]
    asked = values_of(question)
    found = (cell_of_another(fact, passages, words) for fact in (*asked.quantities, *asked.dates))
    return next(filter(None, found), None)


def _check_value(sentence: str, fact: Fact, passages: Sequence[str], question: str, roles: Roles) -> Check:
    support = next(
        (
            (number, match)
            for number, passage in enumerate(passages)
            if (match := value_support(sentence, fact, passage))
        ),
        None,
    )
    if support is not None:
        exchanged = value_of_another(sentence, fact, passages, question, roles)
        verdict = Verdict.CONTRADICTED if exchanged else Verdict.SUPPORTED
        return Check.of(fact, verdict, *(exchanged or support))
    other = other_value(sentence, fact, passages, roles)
    if other is not None:
        return Check.of(fact, Verdict.CONTRADICTED, *other)
    asked = value_support(sentence, fact, question) if question else None
    if asked is not None and asked.how in {"equal", "rounded", "same date"}:
        return Check(fact, Verdict.SUPPORTED, how="question")
    return Check(fact, Verdict.ABSENT)


def _opens_with_verb(name: Name, passages: Sequence[str]) -> bool:
    """Return whether the first word of a sentence is not part of the name: "Review Ada's letters"."""
    if name.start or len(name.words) == 1:
        return False
    first = name.words[0]
    return first.endswith(_VERB_ENDS) or any(f" {first} " in passage for passage in passages)


def _is_vague(check: Check) -> bool:
    """Return whether the absence of a fact says nothing: passages list two things without the word."""
    fact = check.fact
    return (
        check.verdict is Verdict.ABSENT
        and isinstance(fact, Quantity)
        and fact.high <= _FEW
        and (fact.units[:1] == (ORDINAL,) or (not fact.units and fact.text.isalpha()))
    )
