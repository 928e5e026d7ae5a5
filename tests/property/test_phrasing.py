"""The same content in other words has the same score of grounding, and wrong content a lower one.

A family is a question and passage of XQuAD, its right answer and a wrong one, each in the same phrasings.
"""

import json
import random
import re

import pytest

import sgi
from support.slow import slow

PHRASINGS = (
    *("{}", "{}.", "It is {}.", "The answer is {}.", "The correct answer is: {}.", "**{}**", "Answer: {}"),
    *("Sure! The answer is {}.", "According to the passage, {}.", "According to the passage, it is {}."),
    *("Based on the provided context, the answer is {}.", "{}, according to the text."),
)
MAX_WORDS = 6


def kind_of(answer: str) -> str:
    if re.search(r"\d", answer):
        return "number"
    return "name" if answer[0].isupper() else "words"


def wrong_answer(answer: str, context: str, others: list[str], draw: random.Random) -> str:
    """Another number, or the answer to a question about another passage, of which this one has no word."""
    number = re.search(r"\d+", answer)
    while True:
        other = draw.choice(others)
        if number:
            value = str(int(number[0]) + draw.choice([-1, 1]) * draw.randint(1, 9))
            other = answer[: number.start()] + value + answer[number.end() :]
            if value not in context:
                return other
        words = re.findall(r"\w{4,}", other.lower())
        if not number and words and not any(word in context.lower() for word in words):
            return other


def families(file, count: int) -> list[tuple[str, str, str, str]]:
    """Rows of (context, question, right answer, wrong answer)."""
    draw = random.Random(3)
    paragraphs = [one for article in json.loads(file.read_text())["data"] for one in article["paragraphs"]]
    rows = [
        (one["context"], row["question"], row["answers"][0]["text"])
        for one in paragraphs
        for row in one["qas"]
        if len(row["answers"][0]["text"].split()) <= MAX_WORDS
    ]
    by_kind: dict[str, list[str]] = {}
    for *_, answer in rows:
        by_kind.setdefault(kind_of(answer), []).append(answer)
    return [
        (context, question, answer, wrong_answer(answer, context + question, by_kind[kind_of(answer)], draw))
        for context, question, answer in draw.sample(rows, count)
    ]


@pytest.mark.parametrize("count", [40, *slow(320)])
def test_phrasing_does_not_decide(data_folder, count):
    chosen = families(data_folder / "xquad_en" / "xquad.en.json", count)
    rows = [
        {"question": question, "contexts": [context], "response": phrasing.format(answer)}
        for context, question, *answers in chosen
        for answer in answers
        for phrasing in PHRASINGS
    ]
    values = sgi.evaluate(rows, "grounding")["grounding"].values.reshape(count, 2, len(PHRASINGS))

    ordered = values[:, 0].min(axis=1) > values[:, 1].max(axis=1)
    close = values[:, 0].max(axis=1) - values[:, 0].min(axis=1) <= 0.15
    assert ordered.mean() >= 0.95
    assert close.mean() >= 0.95
