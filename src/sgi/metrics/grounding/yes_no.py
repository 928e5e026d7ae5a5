"""Turns an answer that is only "yes" or "no" into the statement that it makes."""

from __future__ import annotations

import re
from typing import NamedTuple

from sgi.metrics.grounding.language_tables import language_of

_BE_OR_DO = r"is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must"
_ANSWER = re.compile(
    r"\W{0,3}(?:(?P<yes>yes|yeah|yep|yup|correct|true)|(?P<no>no|nope|nah|incorrect|false))\b[\s,.!;:]{0,5}"
    rf"(?:(?:it|he|she|they|that|this|there|these|those|we|you|i)\s(?:{_BE_OR_DO})(?:\s?not|n['’]t)?)?\W{{0,5}}",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    rf"(?:and |so |but |then )?(?P<verb>{_BE_OR_DO})(?:n['’]t)?\s+(?:not\s+)?(?P<rest>\S.{{0,2000}}?)[\s?]*",
    re.IGNORECASE | re.DOTALL,
)
_WORD = re.compile(r"\S+")
_JOINS = frozenset(["and", "of", "the", "de", "van", "von", "&", "both"])


class YesNoStatement(NamedTuple):
    """What "yes" or "no" says in answer to a question; ``denied`` for "no"."""

    text: str
    denied: bool


def yes_no_statement(response: str, question: str) -> YesNoStatement | None:
    """Return what "yes" or "no" says; None if the response says more, or the question is of another kind.

    The question must begin with a verb such as "is" or "did".

    >>> yes_no_statement("Yes, they are.", "Are Rome and Oslo capitals?").text
    'Rome and Oslo are capitals'
    >>> yes_no_statement("No", "Was Ada Byron born in Paris?")
    YesNoStatement(text='It is not so that Ada Byron was born in Paris', denied=True)
    >>> yes_no_statement("No, in Oslo", "Was Ada Byron born in Paris?")
    """
    answer = _ANSWER.fullmatch(response)
    asked = _QUESTION.fullmatch(question.strip()) if answer else None
    if answer is None or asked is None:
        return None
    rest = asked["rest"]
    subject = rest[: _subject_end(rest)].rstrip()
    parts = (subject, asked["verb"].lower(), rest[len(subject) :].strip())
    statement = " ".join(filter(None, parts))
    denied = answer["no"] is not None
    return YesNoStatement(f"It is not so that {statement}" if denied else statement, denied)


def _subject_end(text: str) -> int:
    """Return where the subject at the beginning of a text ends.

    The subject is a run of words with capitals, or the words up to the first content word.
    """
    end, has_name = 0, False
    for word in _WORD.finditer(text):
        plain = word[0].strip(".,'\"“”").casefold()
        is_name = word[0].lstrip("'\"“(")[:1].isupper()
        if has_name and not is_name and plain not in _JOINS:
            return end
        end = word.end()
        has_name = has_name or is_name
        if not has_name and plain not in language_of(text).function_words:
            return end
    return end
