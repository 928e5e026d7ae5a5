"""The service as an application uses it, by its published names; and what others see of its runs."""

import asyncio
import json
import os
import subprocess
import sys

import pytest
import sqlalchemy as sa

from sgi.service.service import RAGEvalService
from sgi.store.database import open_database
from support.command import sgi

# As printed, with the service made by a name of ours and a stand-in for the printed client.
PRINTED = """
import asyncio
from typing import List
from sgi.service.service import RAGEvalService

import logging
logger = logging.getLogger("application")

class OpenAIEmbeddings:
    calls = 0
    async def embed_texts(self, texts: List[str]) -> List[List[float]]:
        self.calls += 1
        return [[0.1 * n + 1.0] + [0.01] * 1535 for n, text in enumerate(texts)]

class Application(RAGEvalService):
    async def evaluate(self, embedding_model):
        reference_answer: str = "Paris is the capital of France."
        generated_answer: str = "The capital of France is Paris."
        try:
            semantic_similarity = await self.calculate_semantic_similarity(
                reference_answer=reference_answer,
                generated_answer=generated_answer,
                embedding_model=embedding_model
            )
        except Exception as e:
            logger.error(f"Failed to calculate semantic similarity: {e}")
            semantic_similarity = None  # Will be stored as NULL
        return semantic_similarity

async def main():
    service, model = Application(), OpenAIEmbeddings()
    semantic_similarity = await service.evaluate(model)
    service.save_evaluation_to_db(
        test_run_id="run", qa_pair_id="pair", answer="Paris", semantic_similarity=semantic_similarity
    )
    (record,) = service.get_by_test_run_id("run")
    full = service.get_full_by_run_and_qa("run", "pair")
    print(model.calls, 0.99 < record["semantic_similarity"] <= 1.0, full["answer"], record["bleu"])

asyncio.run(main())
"""

QUESTIONS = [
    ("q1", "What is the capital of France?", "Paris is the capital of France."),
    ("q2", "Who wrote Emma?", "Jane Austen wrote Emma."),
    ("q3", "What is the tallest mountain?", "Mount Everest."),
]
ANSWERS = {
    "What is the capital of France?": "The capital of France is Paris.",
    "Who wrote Emma?": "Jane Austen.",
}

WORKER = """
import asyncio, sys
from sgi.service.service import RAGEvalService
from sgi.testing import HashEmbedder
url, worker = sys.argv[1:]
async def main():
    async with RAGEvalService(database=url, embedder=HashEmbedder()) as service:
        for n in range(10):
            made = await service.generate_and_evaluate("Who?", "Austen", answer=f"Jane Austen {n}")
            service.save_evaluation_to_db("nightly", f"{worker}-{n}", made)
asyncio.run(main())
"""


def python(*words, cwd, **variables):
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=cwd, env=os.environ | variables, capture_output=True, text=True, check=False
    )


@pytest.fixture
def nightly(database_url):
    """A run of three questions, of which the target cannot answer the last."""

    async def work():
        async with RAGEvalService(ANSWERS.__getitem__, database=database_url) as service:
            for name, question, reference in QUESTIONS:
                result = await service.generate_and_evaluate(question, reference)
                service.save_evaluation_to_db("nightly", name, result)

    asyncio.run(work())
    return database_url


def test_the_published_names_work_as_printed(tmp_path):
    result = python("-c", PRINTED, cwd=tmp_path, SGI_DATABASE_URL="")
    assert (result.stdout, result.returncode) == ("1 True Paris None\n", 0), result.stderr
    assert (tmp_path / "sgi.db").exists()


def test_business_intelligence_reads_the_wide_view(nightly):
    columns = "test_run_id, qa_pair_id, question, answer, semantic_similarity, squad_em, groundedness"
    with open_database(nightly) as database, database.reading() as connection:
        view = sa.table("evals", *map(sa.column, columns.split(", ")))
        rows = connection.execute(sa.select(view).order_by(view.c.qa_pair_id)).all()
    assert [row.qa_pair_id for row in rows] == ["q1", "q2", "q3"]
    assert [row.answer for row in rows] == [*ANSWERS.values(), None]
    assert rows[0].semantic_similarity == pytest.approx(0.9894, abs=5e-4)
    assert (rows[2].semantic_similarity, rows[2].squad_em, rows[2].groundedness) == (None, None, None)


def test_a_run_of_the_command_line_is_looked_up(tmp_path, database_url):
    rows = [{"id": name, "question": q, "reference": r, "response": "Paris"} for name, q, r in QUESTIONS]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("run", "rows.jsonl", "-m", "content_f1", "--db", database_url, "--name", "batch")
    result = sgi(tmp_path, *words)
    assert result.code == 0, result.err
    service = RAGEvalService(database=database_url)
    found = service.get_by_test_run_id("batch")
    assert [record["qa_pair_id"] for record in found] == ["q1", "q2", "q3"]
    assert found[0]["content_f1"] == pytest.approx(0.4)  # one of four content words, and nothing else
    assert {record["semantic_similarity"] for record in found} == {None}
    assert service.get_full_by_run_and_qa("batch", "q2")["question"] == "Who wrote Emma?"
    service.close()


@pytest.mark.slow
def test_services_in_several_processes_fill_one_run(tmp_path, database_url):
    started = [
        subprocess.Popen([sys.executable, "-c", WORKER, database_url, str(n)], cwd=tmp_path) for n in range(3)
    ]
    assert [process.wait(timeout=120) for process in started] == [0, 0, 0]
    service = RAGEvalService(database=database_url)
    records = service.get_by_test_run_id("nightly")
    assert {record["qa_pair_id"] for record in records} == {f"{w}-{n}" for w in range(3) for n in range(10)}
    assert sorted(int(record["id"].rpartition(":")[2]) for record in records) == list(range(30))
    assert service.finish_run("nightly").rows == 30
    service.close()
