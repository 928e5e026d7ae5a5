"""The example RAG answers its questions, as a function and behind HTTP, alike and as its README says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import mean

import anyio
import pytest

from sgi.io import open_dataset
from sgi.kernel.errors import TargetError
from sgi.target import TargetSpec, open_target

FOLDER = Path(__file__).parents[2] / "examples" / "bm25_rag"
MISSED = {"moons-of-mars", "uranus", "titan-lakes", "pluto", "not-in-text", "two-passages"}
KEYWORDS = {
    "largest-planet": "Jupiter",
    "hottest-planet": "Venus",
    "moons-of-mars": "Deimos",
    "rings": "ice and rock",
    "year-on-mercury": "88",
    "uranus": "Herschel",
    "titan-lakes": "methane",
    "comet-tail": "away from the Sun",
    "halley": "76",
    "first-on-moon": "Armstrong",
    "nearest-star": "Proxima",
    "pluto": "cleared",
    "inferred-day": "Venus",
    "not-in-text": "seven",
    "two-passages": "Ganymede",
}


@pytest.fixture(autouse=True)
def _in_the_folder(monkeypatch):
    monkeypatch.chdir(FOLDER)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    sys.modules.pop("rag", None)


@pytest.fixture
def server():
    command = [sys.executable, "-B", "serve.py", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


def questions():
    return [json.loads(line) for line in (FOLDER / "questions.jsonl").read_text().splitlines()]


def replies(where, asked):
    async def run():
        async with open_target(TargetSpec(where=where)) as target:
            return [await target.answer(question) for question in asked]

    return anyio.run(run)


def test_its_questions_are_a_dataset_and_its_misses_are_those_of_the_readme():
    rows = questions()
    samples = open_dataset(FOLDER / "questions.jsonl").samples()
    assert [sample.id for sample in samples] == [row["id"] for row in rows]
    assert len(rows) == 15
    assert all(row["reference"] for row in rows)
    answers = replies("rag:answer", [row["question"] for row in rows])
    pairs = zip(rows, answers, strict=True)
    assert {row["id"] for row, reply in pairs if KEYWORDS[row["id"]] not in reply.response} == MISSED
    readme = (FOLDER / "README.md").read_text()
    assert all(f"| `{name}` |" in readme for name in MISSED)


def test_every_answer_is_a_sentence_of_its_contexts():
    for reply in replies("rag:answer", [row["question"] for row in questions()]):
        assert len(reply.contexts) == 3
        assert any(reply.response in passage for passage in reply.contexts)


def test_the_means_in_the_readme_are_those_of_its_answers():
    rows = questions()
    answers = replies("rag:answer", [row["question"] for row in rows])
    pairs = zip(rows, answers, strict=True)
    lines = [
        json.dumps({**row, "response": reply.response, "contexts": reply.contexts}) for row, reply in pairs
    ]
    names = ("sgi", "rouge_l", "semantic_similarity")
    command = [sys.executable, "-m", "sgi", "score", "-", *(word for name in names for word in ("-m", name))]
    result = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    scored = [json.loads(line) for line in result.stdout.splitlines()]
    readme = (FOLDER / "README.md").read_text()
    for name in names:
        values = {row["id"]: row["scores"][name]["value"] for row in scored}
        right = mean(value for key, value in values.items() if key not in MISSED)
        wrong = mean(value for key, value in values.items() if key in MISSED)
        assert f"| `{name}` | {right:.2f} | {wrong:.2f} |" in readme


def test_it_answers_alike_behind_http(server):
    asked = [row["question"] for row in questions()] + ["zzz", "", "\ud800 Ganymede \x00"]
    assert replies(server, asked) == replies("rag:answer", asked)


def test_the_server_reports_a_wrong_field(server):
    async def run():
        async with open_target(TargetSpec(where=server, question_field="query")) as target:
            await target.answer("Who?")

    with pytest.raises(TargetError, match=r"answered 400 \(Bad Request\): .*Check question_field"):
        anyio.run(run)
