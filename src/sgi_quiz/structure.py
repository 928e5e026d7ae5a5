"""Questions from the structure of a document: headings that ask, tables, and numbered steps."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from sgi.text.tokenizers import sentences
from sgi_quiz.clauses import is_vague
from sgi_quiz.english import word_set
from sgi_quiz.parsing import content_stems, parser
from sgi_quiz.question import Kind, Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi_quiz.passages import Passage

MAX_ANSWER = 60
"""The largest number of words of the answer under a heading that asks."""
_UNCLEAR = re.compile(
    r"(?i)\b(?:it|they|them|this|these|those|he|she|his|her|its|their|here|above|below|one)\b"
)
_POINTS = re.compile(r"(?i)(?:this|these|it|the following|there|here)\b")
_NUMBER = re.compile(r"([-−]?\d[\d,]*(?:\.\d+)?)\s*(%|[a-zA-Zµ°€$£]{0,5})\.?")
_MEASURES = word_set("measures")
_NOT_COMPARED = {"default", "version", "port", "year"}


def faq_question(passage: Passage) -> Question | None:
    """Return the question of a heading, with the first sentences below it as the answer; None if none."""
    title = passage.headings[-1] if passage.headings else ""
    if not title.endswith("?") or len(title.split()) < 4 or _UNCLEAR.search(title) or passage.cells:
        return None
    if any(
        token.pos_ == "NOUN" and is_vague(token, range(len(title)), strict=False) for token in parser()(title)
    ):
        return None
    answer = ""
    for sentence in sentences(passage.plain.replace("`", "")):
        if not sentence.endswith((".", "!")) or (answer and len(f"{answer} {sentence}".split()) > MAX_ANSWER):
            break
        answer = f"{answer} {sentence}".strip()
    if (
        not content_stems(answer) & content_stems(title)
        or _POINTS.match(answer)
        or len(answer.split()) > MAX_ANSWER
        or len(content_stems(title)) < 2
    ):
        return None
    why = f"The document asks it itself, as a heading of {passage.source}."
    return Question(Kind.FAQ, "faq", title, answer, (passage,), title, why, title)


def table_questions(passage: Passage) -> Iterator[Question]:
    """Yield questions for a number of a table, and comparisons of two numbers of a column."""
    if len(passage.cells) < 3 or not passage.headings:
        return
    header, *rows = passage.cells
    rows = [row for row in rows if len(row) == len(header) and re.fullmatch(r"[A-Za-z][\w .-]{2,50}", row[0])]
    if len({row[0] for row in rows}) < len(rows) or not 1 <= len(header[0].split()) <= 4:
        return
    for column, name in enumerate(header[1:], 1):
        if not _is_noun(name):
            continue
        found = [(row, match) for row in rows if (match := _NUMBER.fullmatch(row[column]))]
        for row, _ in found:
            sentence = " | ".join(row)
            text = f"What is the {_lower(name)} of {row[0]}?"
            why = f"Asks for one number of a table in {passage.source}."
            if len(row[0].split()) <= 6 and not set(row[0]) & set("(),;:"):
                yield Question(Kind.FACT, "table cell", text, row[column], (passage,), sentence, why, row[0])
        if name.split()[-1].casefold() not in _NOT_COMPARED:
            yield from _compared(passage, name, found)


def _compared(
    passage: Passage, name: str, found: Sequence[tuple[Sequence[str], re.Match[str]]]
) -> Iterator[Question]:
    for (one, first), (other, second) in combinations(found[:6], 2):
        values = [float(match[1].replace(",", "").replace("−", "-")) for match in (first, second)]
        if first[2] != second[2] or values[0] == values[1] or set(one[0] + other[0]) & set("(),;:"):
            continue
        more = one[0] if values[0] > values[1] else other[0]
        text = f"Which has the higher {_lower(name)}, {one[0]} or {other[0]}?"
        why = f"Compares two numbers of a table: {one[0]} has {first[0]}, {other[0]} has {second[0]}."
        yield Question(
            Kind.COMPARISON,
            "table",
            text,
            more,
            (passage,),
            f"{' | '.join(one)}\n{' | '.join(other)}",
            why,
            one[0],
        )


def _is_noun(header: str) -> bool:
    """Return whether a header names something that has a value, such as *maximum size*."""
    words = header.split()
    return (
        bool(re.fullmatch(r"[A-Za-z -]{2,40}", header))
        and len(words) <= 3
        and words[-1].casefold() in _MEASURES
    )


def _lower(name: str) -> str:
    return " ".join(word if not word.istitle() else word.lower() for word in name.split())


def step_questions(passage: Passage) -> Iterator[Question]:
    """Yield questions for a step of numbered instructions whose heading names what they do."""
    if len(passage.steps) < 3 or not passage.headings:
        return
    title = passage.headings[-1]
    doc = parser()(f"To {title[:1].lower()}{title[1:]}.")
    if doc[1].tag_ != "VB" or _UNCLEAR.search(title) or len(title.split()) < 2 or title.endswith("?"):
        return
    aim = f"{title[:1].lower()}{title[1:]}"
    for at, step in enumerate(passage.steps):
        answer = next(iter(sentences(step.replace("`", ""))), "")
        if at == 0:
            text = f"What is the first step to {aim}?"
        elif at == len(passage.steps) - 1:
            text = f"What is the last step to {aim}?"
        else:
            continue
        if 3 <= len(answer.split()) <= 30 and len(content_stems(answer)) >= 2:
            why = f"Asks for a step of the instructions under {title!r}."
            yield Question(Kind.FACT, "step", text, answer.rstrip("."), (passage,), answer, why, aim)
