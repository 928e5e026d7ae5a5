"""Test data of the benchmarks: HaluEval QA as published, and random rows."""

from __future__ import annotations

import json
import os
import random
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "src" / "sgi" / "data" / "halueval_qa_sample.jsonl"
"""The bundled sample."""
FROM_SAMPLE = " of the bundled sample"
"""End of the name of a work that is measured with the bundled sample because other data is missing."""
WORDS = (
    *("paris", "rome", "emma", "austen", "wrote", "the", "of", "a", "novel", "capital", "river", "tower"),
    *("built", "in", "1889", "and", "is", "was", "city"),
)
FIELDS = ("knowledge", "question", "right_answer", "hallucinated_answer")


def data_file() -> Path:
    """Return the file of all 10,000 rows, or the bundled sample if it is missing."""
    full = Path(os.environ.get("SGI_DATA_DIR", ROOT.parent / "shared" / "data")) / "halueval_qa.jsonl"
    return full if full.exists() else SAMPLE


def rows(count: int | None = None, file: Path | None = None) -> list[dict[str, Any]]:
    """Read the first rows of the file, or all rows without a count."""
    with (file or data_file()).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, count)]


def texts(count: int) -> list[str]:
    """Return passage, question and both answers of the first rows."""
    return [row[field] for row in rows(count) for field in FIELDS]


def triples(count: int | None = None) -> list[dict[str, str]]:
    """Return question, passage and alternately the right or the hallucinated answer of each row."""
    answers = ("right_answer", "hallucinated_answer")
    return [
        {"question": row["question"], "context": row["knowledge"], "response": row[answers[index % 2]]}
        for index, row in enumerate(rows(count))
    ]


def long_rows(count: int) -> list[dict[str, Any]]:
    """Return the first rows of RAGTruth QA; without the file, long rows made of the bundled sample."""
    file = Path(os.environ.get("SGI_DATA_DIR", ROOT.parent / "shared" / "data")) / "ragtruth_qa_test.jsonl"
    if file.exists():
        with file.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in islice(lines, count)]
    knowledge = [row["knowledge"] for row in rows()]
    return [
        {
            "question": row["question"],
            "contexts": [knowledge[(index + step) % len(knowledge)] for step in range(4)],
            "response": f"{row['right_answer']}. {row['hallucinated_answer']}. {row['knowledge']}",
        }
        for index, row in enumerate(islice(rows(), count))
    ]


def pairs(count: int) -> list[tuple[str, str]]:
    """Return pairs of a hallucinated and a right answer."""
    return [(row["hallucinated_answer"], row["right_answer"]) for row in rows(count)]


def write_jsonl(path: Path, count: int) -> None:
    """Write triples as rows for `sgi run`."""
    with path.open("w", encoding="utf-8") as file:
        for index, triple in enumerate(triples(count)):
            sample = {"id": str(index), **triple, "contexts": [triple["context"]]}
            del sample["context"]
            file.write(json.dumps(sample) + "\n")


def write_rows(path: Path, count: int) -> None:
    """Write rows of random words with about 600 bytes each, from a fixed seed."""
    generator = random.Random(0)

    def text(words: int) -> str:
        return " ".join(generator.choices(WORDS, k=words))

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
