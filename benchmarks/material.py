"""The real texts that are measured with: HaluEval QA, as published."""

from __future__ import annotations

import json
import os
import random
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WORDS = (
    *("paris", "rome", "emma", "austen", "wrote", "the", "of", "a", "novel", "capital", "river", "tower"),
    *("built", "in", "1889", "and", "is", "was", "city"),
)
FIELDS = ("knowledge", "question", "right_answer", "hallucinated_answer")


def data_file() -> Path:
    """All 10,000 rows, in ``SGI_DATA_DIR`` or beside the checkout; else the sample in the package."""
    shared = Path(os.environ.get("SGI_DATA_DIR", ROOT.parent / "shared" / "data")) / "halueval_qa.jsonl"
    return shared if shared.exists() else ROOT / "src" / "sgi" / "data" / "halueval_qa_sample.jsonl"


def rows(count: int | None = None) -> list[dict[str, Any]]:
    """The first rows as published; all where no count is given."""
    with data_file().open(encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, count)]


def texts(count: int) -> list[str]:
    """Passage, question and both answers of this many rows."""
    return [row[field] for row in rows(count) for field in FIELDS]


def triples(count: int | None = None) -> list[dict[str, str]]:
    """Question, passage and one of the answers, the right one and the other by turns: no text comes twice."""
    answers = ("right_answer", "hallucinated_answer")
    return [
        {"question": row["question"], "context": row["knowledge"], "response": row[answers[place % 2]]}
        for place, row in enumerate(rows(count))
    ]


def pairs(count: int) -> list[tuple[str, str]]:
    """Other answer and right answer."""
    return [(row["hallucinated_answer"], row["right_answer"]) for row in rows(count)]


def write_jsonl(path: Path, count: int) -> None:
    """The triples as rows that `sgi run` reads."""
    with path.open("w", encoding="utf-8") as file:
        for place, triple in enumerate(triples(count)):
            sample = {"id": str(place), **triple, "contexts": [triple["context"]]}
            del sample["context"]
            file.write(json.dumps(sample) + "\n")


def write_rows(path: Path, count: int) -> None:
    """Made rows of about 600 bytes from a fixed seed, for work that does not ask what they mean."""
    chance = random.Random(0)  # noqa: S311 - data, not a secret

    def text(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words))

    with path.open("w", encoding="utf-8") as file:
        for row in range(count):
            sample = {
                "id": str(row),
                "question": text(10),
                "contexts": [text(40), text(30)],
                "response": text(12),
                "reference": text(10),
            }
            file.write(json.dumps(sample) + "\n")
