"""A small RAG system in plain Python: BM25 retrieves passages, and their best sentence is the answer.

It only matches words. So it is fast and repeatable, and makes errors that an evaluation should show.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

PASSAGES = Path(__file__).with_name("passages.txt")
K1 = 1.5
"""Term frequency saturation."""
B = 0.75
"""Length normalisation, from 0 to 1."""


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


class Bm25:
    """Okapi BM25 over a list of texts (Robertson and Zaragoza 2009).

    The score of a text is the sum, over the words of the query, of
    idf · f·(k1+1) / (f + k1·(1 - b + b·length/mean)). f is the count of a
    word in the text. idf is ln(1 + (N - n + 0.5) / (n + 0.5)) for a word in n of N texts.
    """

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.counts = [Counter(words(text)) for text in texts]
        self.mean = sum(map(Counter.total, self.counts)) / len(texts)
        self.document_frequency = Counter(word for count in self.counts for word in count)

    def score(self, query: list[str], count: Counter[str]) -> float:
        """Score a text, given by its word counts, against the query."""
        length_penalty = K1 * (1 - B + B * count.total() / self.mean)
        return sum(self.idf(word) * count[word] * (K1 + 1) / (count[word] + length_penalty) for word in query)

    def idf(self, word: str) -> float:
        """Return the inverse document frequency of a word."""
        n = self.document_frequency[word]
        return math.log(1 + (len(self.texts) - n + 0.5) / (n + 0.5))

    def best(self, question: str, n: int) -> list[str]:
        """Return up to n matching texts, the best first; ties keep their order."""
        query = words(question)
        scores = [self.score(query, count) for count in self.counts]
        order = sorted(range(len(scores)), key=lambda row: -scores[row])
        return [self.texts[row] for row in order[:n] if scores[row] > 0]


INDEX = Bm25(PASSAGES.read_text(encoding="utf-8").strip().split("\n\n"))


def answer(question: str) -> dict[str, str | list[str]]:
    """Return the sentence that best matches the question, and the three retrieved passages."""
    contexts = INDEX.best(question, 3)
    sentences = [sentence for passage in contexts for sentence in re.split(r"(?<=\.) ", passage)]
    if not sentences:
        return {"answer": "I don't know.", "contexts": []}
    return {"answer": Bm25(sentences).best(question, 1)[0], "contexts": contexts}
