"""The RAG system with a worse prompt. The retriever and the model are the same.

The prompt of `rag` says: "Answer from the passages, cite the passage of each sentence, and say so if the
passages do not answer the question." This one says: "Always answer. Name a source." It also limits the length
of answers. So the generator answers every question, its answers are cut off, and it cites the first passage.
"""

from __future__ import annotations

import rag

MAX_WORDS = 15


def generate(question: str, passages: list[str]) -> str:
    """Answer every question with at most fifteen words, and cite the first passage."""
    best = rag.best_sentences(question, passages, 2)
    if not best:
        return rag.NO_ANSWER
    text = " ".join(sentence for _, sentence in best)
    return " ".join(text.split()[:MAX_WORDS]).rstrip(".") + ". [1]"


def answer(question: str) -> rag.Answer:
    """Return the answer, and the three retrieved passages."""
    return rag.answer_from(question, rag.INDEX.best(question, 3), generate)
