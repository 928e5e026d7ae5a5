"""The RAG system with a worse model. The retriever and the prompt are the same.

The model gets the facts of its passages wrong, as small language models do: it changes numbers, confuses
names, and adds a claim of its own to every third answer. A second run gives the same answers.
"""

from __future__ import annotations

import re
import zlib

import rag

NAMES = re.findall(
    r"\w+",
    "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune Pluto Titan Io Europa Ganymede Callisto Phobos"
    " Deimos Galilei Kepler Newton Copernicus Herschel Galle Tombaugh Halley Armstrong Gagarin Tereshkova"
    " Aldrin Ceres Eris Triton Enceladus Oxygen",
)
CLAIM = "It was first measured by a Japanese probe in the spring of 1998."


def change_number(match: re.Match[str]) -> str:
    """Return another number with the same count of digits."""
    digits = match[0]
    return f"{digits[:-1]}{(int(digits[-1]) + 3) % 10}"


def confuse_name(match: re.Match[str]) -> str:
    """Return the next name of the list."""
    return NAMES[(NAMES.index(match[0]) + 1) % len(NAMES)]


def generate(question: str, passages: list[str]) -> str:
    """Answer as `rag.generate` does, then get facts wrong."""
    answer = rag.generate(question, passages)
    if answer == rag.NO_ANSWER:
        return answer
    answer = re.sub(r"\d+(?!\])\b", change_number, answer)
    answer = re.sub(rf"\b({'|'.join(NAMES)})\b", confuse_name, answer)
    return f"{answer} {CLAIM} [1]" if zlib.crc32(question.encode()) % 3 == 0 else answer


def answer(question: str) -> rag.Answer:
    """Return the answer, and the three retrieved passages."""
    return rag.answer_from(question, rag.INDEX.best(question, 3), generate)
