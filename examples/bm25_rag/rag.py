"""A small RAG system in plain Python: BM25 retrieves passages, and the generator copies their best sentences.

It only matches words. So it is fast and repeatable, and makes errors that an evaluation should show.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

K1 = 1.5
"""Term frequency saturation."""
B = 0.75
"""Length normalisation, from 0 to 1."""
MIN_COVERAGE = 0.5
"""The share of the question's words, by weight, that a passage must have."""
MIN_GAIN = 3.0
"""The weight of the words that a second sentence must add."""
NO_ANSWER = "I don't know. The passages do not say."
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about an and are at by did do does for from has have how in is it its many much of on one or so"
        " than that the there these this to was were what when where which who why will with",
    )
)


class Passage(NamedTuple):
    """A passage with its id."""

    id: str
    text: str


class Answer(TypedDict):
    """What the system returns: SGI reads these keys."""

    answer: str
    contexts: list[str]
    context_ids: list[str]


def read_passages() -> list[Passage]:
    """Read the passages of the pages: each paragraph, list or table, with the heading above it as its id.

    ``RAG_PAGES`` names another folder of Markdown pages. Its headings have several passages each, which get
    a number.
    """
    folder = Path(os.environ.get("RAG_PAGES", Path(__file__).with_name("pages")))
    passages: dict[str, Passage] = {}
    for path in sorted(folder.glob("*.md")):
        heading = path.stem
        for block in re.split(r"\n\s*\n|(?<=\n)(?=#)|(?<=^)(?=#)", path.read_text(encoding="utf-8")):
            title, _, text = block.partition("\n") if block.startswith("#") else ("", "", block)
            heading = title.lstrip("# ") or heading
            if text.strip():
                name = heading if heading not in passages else f"{heading} {len(passages)}"
                passages[name] = Passage(name, text.strip())
    return list(passages.values())


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without stop words and common endings."""
    every = re.findall(r"[a-z0-9]+", text.lower())
    return [re.sub(r"(ing|ed|est|es|s|e)$", "", word) for word in every if word not in STOP_WORDS]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return re.split(r"(?<=\.) ", text)


class Bm25:
    """Okapi BM25 over a list of passages (Robertson and Zaragoza 2009).

    The score of a passage is the sum, over the words of the query, of
    idf · f·(k1+1) / (f + k1·(1 - b + b·length/mean)). f is the count of a word in the passage.
    """

    def __init__(self, passages: list[Passage]) -> None:
        self.passages = passages
        self.counts = [Counter(words(passage.text)) for passage in passages]
        self.mean = sum(map(Counter.total, self.counts)) / len(passages)
        self.document_frequency = Counter(word for count in self.counts for word in count)

    def score(self, query: list[str], count: Counter[str]) -> float:
        """Score a passage, given by its word counts, against the query."""
        length_penalty = K1 * (1 - B + B * count.total() / self.mean)
        return sum(self.idf(word) * count[word] * (K1 + 1) / (count[word] + length_penalty) for word in query)

    def idf(self, word: str) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)) for a word in n of N passages."""
        n = self.document_frequency[word]
        return math.log(1 + (len(self.passages) - n + 0.5) / (n + 0.5))

    def weight(self, query: Iterable[str]) -> float:
        """Return the sum of the inverse document frequencies of words."""
        return sum(map(self.idf, sorted(query)))

    def best(self, question: str, n: int) -> list[Passage]:
        """Return up to n matching passages, the best first; ties keep their order."""
        query = words(question)
        scores = [self.score(query, count) for count in self.counts]
        order = sorted(range(len(scores)), key=lambda row: -scores[row])
        return [self.passages[row] for row in order[:n] if scores[row] > 0]


INDEX = Bm25(read_passages())


def best_sentences(question: str, passages: list[str], n: int) -> list[tuple[int, str]]:
    """Return up to n sentences that match the question, each with the number of its passage, from 1.

    A sentence gets the weight of the question's words in it, and half the weight of those in its passage. A
    further sentence must have enough of the question's words that the sentences before it lack.
    """
    query = missing = set(words(question))
    sentences = [
        (number, text) for number, passage in enumerate(passages, 1) for text in split_sentences(passage)
    ]
    context = [INDEX.weight(query & set(words(passage))) / 2 for passage in passages]
    best: list[tuple[int, str]] = []
    while sentences and len(best) < n:
        gains = [INDEX.weight(missing & set(words(text))) for _, text in sentences]
        row = max(range(len(sentences)), key=lambda row: gains[row] + context[sentences[row][0] - 1])
        if best and gains[row] < MIN_GAIN:
            break
        best.append(sentences[row])
        missing = missing - set(words(sentences[row][1]))
    return best


def generate(question: str, passages: list[str]) -> str:
    """Answer with the best one or two sentences, and cite their passages as ``[number]``.

    If no passage has half of the question's words, by weight, the answer is that the passages do not say.
    """
    query = set(words(question))
    coverage = max((INDEX.weight(query & set(words(passage))) for passage in passages), default=0.0)
    if coverage < MIN_COVERAGE * INDEX.weight(query):
        return NO_ANSWER
    return " ".join(f"{text} [{number}]" for number, text in best_sentences(question, passages, 2))


def answer_from(question: str, retrieved: list[Passage], generate: Callable[[str, list[str]], str]) -> Answer:
    """Answer a question from the retrieved passages with a generator."""
    contexts = [passage.text for passage in retrieved]
    ids = [passage.id for passage in retrieved]
    return {"answer": generate(question, contexts), "contexts": contexts, "context_ids": ids}


def answer(question: str) -> Answer:
    """Return the answer, and the three retrieved passages."""
    return answer_from(question, INDEX.best(question, 3), generate)
