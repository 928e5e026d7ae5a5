"""Responses of planted rows: answers in several styles, refusals, and citation markers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sgi.text.sentences import sentence_spans
from sgi.text.tokens import content_words

if TYPE_CHECKING:
    from random import Random

_FRAMES = (
    "The answer is {}.",
    "It is {}.",
    "According to the passages, it is {}.",
    "That would be {}.",
    "The passages give this answer: {}.",
)
_REFUSALS = (
    "I'm sorry, but I cannot answer this question from the given passages.",
    "The passages do not contain this information.",
    "The provided context does not say.",
    "I don't know.",
    "There is not enough information in the documents to answer this question.",
    "Unfortunately, none of the passages mentions this.",
    "I could not find an answer in the sources.",
    "Based on the context, it is not possible to answer.",
)
_REASONED_REFUSALS = (
    "The passages are about {}, but they do not answer the question.",
    "I found information about {}, but nothing that answers the question.",
    "While {} is mentioned, the context does not give this detail.",
    "The sources discuss {}. However, they do not say this, so I cannot answer.",
)
_SUBJECT_QUESTION = re.compile(
    r"(?:Who|What|Which(?: \w+)?) (?P<rest>(?:[a-z]+ed|led|built|wrote|made|won|had|became|gave|took)"
    r" [^?]+)\?"
)
_PARENTHESES = re.compile(r" ?\([^()]{0,200}\)")
_CLAUSE_END = re.compile(r";|, (?:and|but|while|although|whereas|so|which|who|where)\b")
_MIN_CLAUSE_WORDS = 6
_MAX_TOPIC_WORDS = 4


class Answer(NamedTuple):
    """An answer to a question, with the sentence of the passage that contains it."""

    question: str
    text: str
    sentence: str


def answer_sentence(passage: str, answer: str) -> str | None:
    """Return the first sentence of a passage that contains the answer as whole words, or None.

    >>> answer_sentence("It is tall. It is in Paris, France.", "Paris")
    'It is in Paris, France.'
    """
    match = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", passage)
    if match is None:
        return None
    found = (passage[a:b] for a, b in sentence_spans(passage) if a <= match.start() and match.end() <= b)
    return next(found, None)


def closest_sentence(passage: str, question: str) -> str:
    """Return the sentence of a passage that shares most content words with a question; ties: the first.

    >>> closest_sentence("It opened in 1889. The tower is in Paris.", "Where is the tower?")
    'The tower is in Paris.'
    """
    asked = frozenset(content_words(question).split())
    parts = [passage[a:b] for a, b in sentence_spans(passage)]
    return max(parts, key=lambda part: len(asked & frozenset(content_words(part).split())))


def short_answer(answer: Answer, draw: Random) -> str:
    """Return the answer alone, or in a frame such as "The answer is Paris."."""
    text = answer.text.rstrip(".,;: ")
    frame = draw.choice(("{}.", *_FRAMES))
    return frame.format(text if frame[0] != "{" else text[0].upper() + text[1:])


def long_answer(answer: Answer, draw: Random) -> str:
    """Return the answer as a statement made of the question, a clause of the passage, or its sentence."""
    styles = [statement(answer), clause(answer), answer.sentence]
    return draw.choice([text for text in styles if text])


def any_answer(answer: Answer, draw: Random) -> str:
    """Return a short or a long answer."""
    return draw.choice((short_answer, long_answer, long_answer))(answer, draw)


def statement(answer: Answer) -> str | None:
    """Turn a question about a subject into a statement; None for other questions.

    >>> statement(Answer("Who led the team in sacks?", "Kawann Short", ""))
    'Kawann Short led the team in sacks.'
    """
    match = _SUBJECT_QUESTION.fullmatch(answer.question.strip())
    if match is None:
        return None
    text = answer.text.rstrip(".,;: ")
    return f"{text[0].upper()}{text[1:]} {match['rest'].rstrip()}."


def clause(answer: Answer) -> str | None:
    """Return the sentence without parentheses up to the end of the clause with the answer; None: too short.

    >>> clause(Answer("", "1889", "The tower (Tour Eiffel) was opened in 1889, and many came."))
    'The tower was opened in 1889.'
    """
    text = _PARENTHESES.sub("", answer.sentence)
    at = text.find(answer.text)
    if at < 0:
        return None
    end = _CLAUSE_END.search(text, at + len(answer.text))
    if end is None:
        return text if text != answer.sentence else None
    short = text[: end.start()].rstrip(" ,") + "."
    return short if len(short.split()) >= _MIN_CLAUSE_WORDS else None


def refusal(draw: Random) -> str:
    """Return a refusal without a reason."""
    return draw.choice(_REFUSALS)


def reasoned_refusal(topics: list[str], draw: Random) -> str:
    """Return a refusal that names a topic of the passages; without topics, one without a reason."""
    short = [topic for topic in topics if len(topic.split()) <= _MAX_TOPIC_WORDS]
    return draw.choice(_REASONED_REFUSALS).format(draw.choice(short)) if short else refusal(draw)


def cite(text: str, marker: int) -> str:
    """Put a citation marker before the full stop of each sentence.

    >>> cite("It is in Paris. It is tall.", 2)
    'It is in Paris [2]. It is tall [2].'
    """
    parts, at = [], 0
    for _, end in sentence_spans(text):
        stop = end - (text[end - 1] in ".!?")
        parts += [text[at:stop], f" [{marker}]", text[stop:end]]
        at = end
    return "".join((*parts, text[at:]))
