"""A small RAG system in plain Python: BM25 finds passages, the best sentence of them is the answer.

It understands nothing: it matches words. That makes it quick, repeatable, and often wrong in ways that an
evaluation should show.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

PASSAGES = Path(__file__).with_name("passages.txt")
K1 = 1.5
"""How soon more of the same word stops counting."""
B = 0.75
"""How much long texts are held back, from 0 to 1."""


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


class Bm25:
    """Okapi BM25 over a list of texts (Robertson and Zaragoza 2009).

    A text scores the sum, over the words of the query, of idf · f·(k1+1) / (f + k1·(1 - b + b·length/mean)),
    with f the word's count in the text and idf = ln(1 + (N - n + 0.5) / (n + 0.5)) for a word that is in n of
    N texts.
    """

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.counts = [Counter(words(text)) for text in texts]
        self.mean = sum(map(Counter.total, self.counts)) / len(texts)
        self.found_in = Counter(word for count in self.counts for word in count)

    def score(self, query: list[str], count: Counter[str]) -> float:
        """How well a text, given by the counts of its words, matches the query."""
        held_back = K1 * (1 - B + B * count.total() / self.mean)
        return sum(self.idf(word) * count[word] * (K1 + 1) / (count[word] + held_back) for word in query)

    def idf(self, word: str) -> float:
        """How much a word tells: the rarer, the more."""
        n = self.found_in[word]
        return math.log(1 + (len(self.texts) - n + 0.5) / (n + 0.5))

    def best(self, question: str, n: int) -> list[str]:
        """The n texts that match best and match at all, the best first; equal ones in their order."""
        query = words(question)
        scores = [self.score(query, count) for count in self.counts]
        order = sorted(range(len(scores)), key=lambda row: -scores[row])
        return [self.texts[row] for row in order[:n] if scores[row] > 0]


INDEX = Bm25(PASSAGES.read_text(encoding="utf-8").strip().split("\n\n"))


def answer(question: str) -> dict[str, str | list[str]]:
    """The sentence that best matches the question, and the three passages it was looked for in."""
    contexts = INDEX.best(question, 3)
    sentences = [sentence for passage in contexts for sentence in re.split(r"(?<=\.) ", passage)]
    if not sentences:
        return {"answer": "I don't know.", "contexts": []}
    return {"answer": Bm25(sentences).best(question, 1)[0], "contexts": contexts}
