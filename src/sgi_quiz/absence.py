"""Questions that the documents do not answer: they name a thing, and do not say this of it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from sgi_quiz.content_check import Absence
from sgi_quiz.english import attributes, word_set
from sgi_quiz.parsing import is_person
from sgi_quiz.question import Kind, Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spacy.tokens import Span

    from sgi_quiz.facts import Fact

_ATTRIBUTES = attributes()


_ORGANIZATIONS = word_set("organizations")


def absences(facts: Sequence[Fact]) -> Iterator[Absence]:
    """Yield questions without an answer; `ContentCheck` drops those that the documents may answer."""
    named: dict[tuple[str, str], Fact] = {}
    labels: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        for entity in fact.sentence.span.ents:
            text = re.sub("^[Tt]he ", "the ", entity.text)
            if entity.start and entity[0].nbor(-1).lower_ == "the":
                text = f"the {text}"
            labels[text].add(entity.label_)
            if _is_usable(entity, fact) and not (text.startswith("the ") and entity.label_ == "PERSON"):
                named.setdefault((text, entity.label_), fact)
    named = {(name, label): fact for (name, label), fact in named.items() if len(labels[name]) <= 1}
    for (name, label), fact in named.items():
        for key, text, cues in _ATTRIBUTES[label]:
            why = f"The documents name {name}, but no passage near it is about its {key}."
            question = Question(
                Kind.UNANSWERABLE, key, text.format(name), None, (), fact.sentence.text, why, name
            )
            yield Absence(question, label == "PERSON", tuple(cues.split()))


def _is_usable(name: Span, fact: Fact) -> bool:
    if name.label_ not in {"PERSON", "ORG", "GPE"} or any(
        token.text in fact.sentence.codes for token in name
    ):
        return False
    words = [token for token in name if token.lower_ != "the"]
    doc = fact.sentence.span.doc
    around = [*doc[max(0, name.start - 1) : name.start], *doc[name.end : name.end + 1]]
    if name.label_ == "ORG" and fact.sentence.is_of_person:
        return False
    if not words or any(token.tag_ in {"NNP", "NNPS", "HYPH"} for token in around):
        return False
    if name.label_ == "GPE" and not (
        words[-1].dep_ == "pobj" and words[-1].head.lower_ in {"in", "near", "from"}
    ):
        return False
    if not all(token.tag_ == "NNP" and token.text.isalpha() and token.text[0].isupper() for token in words):
        return False
    if name.label_ == "ORG" and not _ORGANIZATIONS & {token.text for token in words}:
        return False
    if name.label_ == "PERSON" and not (is_person(name.root) and fact.sentence.is_of_person):
        return False
    if words[0].ent_type_ == "NORP" or words[0].text.endswith(("ian", "ese", "ish")):
        return False
    return len(words) > 1 or (name.label_ == "GPE" and words[0].text.istitle())
