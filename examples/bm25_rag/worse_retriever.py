"""The RAG system with a worse retriever, which often misses the right passage. The generator is the same.

The retriever counts how often the question's words are in a passage. It has no stop words, no weights for
rare words and no length normalisation, so long passages with many common words win.
"""

from __future__ import annotations

import re

import rag


def retrieve(question: str, n: int) -> list[rag.Passage]:
    """Return the n passages that contain the words of the question most often."""
    query = set(re.findall(r"[a-z0-9]+", question.lower()))

    def count(passage: rag.Passage) -> int:
        return sum(word in query for word in re.findall(r"[a-z0-9]+", passage.text.lower()))

    return sorted(rag.INDEX.passages, key=count, reverse=True)[:n]


def answer(question: str) -> rag.Answer:
    """Return the answer, and the three retrieved passages."""
    return rag.answer_from(question, retrieve(question, 3), rag.generate)
