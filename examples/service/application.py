"""An application that evaluates its own RAG system answer by answer, and reads the results.

python examples/service/application.py
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from sgi.service.service import RAGEvalService

RAG = Path(__file__).resolve().parents[1] / "bm25_rag"
sys.path.insert(0, str(RAG))  # the folder of the system under test

from rag import answer  # noqa: E402 - needs the path from the line above


async def evaluate(service: RAGEvalService, row: dict[str, str]) -> None:
    """Ask one question, and score and store the answer."""
    evaluation = await service.generate_and_evaluate(row["question"], row["reference"])
    service.save_evaluation_to_db("nightly", row["id"], evaluation)


async def main() -> None:
    """Evaluate all questions concurrently, then read the stored records."""
    lines = (RAG / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if "reference" in row]
    with tempfile.TemporaryDirectory() as folder:
        async with RAGEvalService(answer, database=Path(folder) / "sgi.db") as service:
            await asyncio.gather(*(evaluate(service, row) for row in rows))
            records = service.get_by_test_run_id("nightly")
            for record in sorted(records, key=lambda record: record["semantic_similarity"]):
                print(f"{record['semantic_similarity']:.3f}  {record['qa_pair_id']:<18}{record['answer']}")
            print()
            print(service.finish_run("nightly"))


if __name__ == "__main__":
    asyncio.run(main())
