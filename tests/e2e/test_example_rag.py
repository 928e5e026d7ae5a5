"""The example RAG answers its questions, as a function and behind HTTP; each variant changes one part."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

import sgi
from sgi.io import open_dataset
from sgi.kernel.errors import TargetError
from sgi.target import TargetSpec, open_target

FOLDER = Path(__file__).parents[2] / "examples" / "bm25_rag"
VARIANTS = ("worse_retriever", "worse_prompt", "worse_model")


@pytest.fixture(autouse=True)
def _in_the_folder(monkeypatch):
    monkeypatch.chdir(FOLDER)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    for name in ("rag", *VARIANTS):
        sys.modules.pop(name, None)


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


def test_the_questions_are_a_dataset_with_qrels():
    samples = list(open_dataset(FOLDER / "questions.jsonl").samples())
    ids = {block.split("\n")[0] for block in (FOLDER / "pages" / "astronomy.md").read_text().split("# ")[1:]}
    assert len(samples) == 58
    for sample in samples:
        assert bool(sample.reference) is bool(sample.relevance) is sample.answerable
        assert sample.relevance.keys() <= ids


def test_every_sentence_is_in_the_passage_that_it_cites():
    for reply in replies("rag:answer", [row["question"] for row in questions()]):
        assert len(reply.contexts) <= 3
        for sentence, number in re.findall(r"([^\[]+) \[(\d)\] ?", reply.response):
            assert sentence in reply.contexts[int(number) - 1]


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_changes_one_part(variant):
    asked = [row["question"] for row in questions()]
    base, worse = replies("rag:answer", asked), replies(f"{variant}:answer", asked)
    same_passages = [a.contexts == b.contexts for a, b in zip(base, worse, strict=True)]
    assert all(same_passages) is (variant != "worse_retriever")
    assert sum(a.response != b.response for a, b in zip(base, worse, strict=True)) >= 15


def test_the_conversations_have_a_contradiction_and_questions_that_need_the_history():
    passages = (FOLDER / "pages" / "astronomy.md").read_text()
    names = ["grounding", "contradicts_itself", "standalone_question"]
    result = sgi.evaluate("conversations.jsonl", names, per_turn=True)
    assert all(text in passages for sample in result.samples for text in sample.contexts)
    ids = [sample.id for sample in result.samples]
    values = {name: dict(zip(ids, result[name].values, strict=True)) for name in names}
    assert [id_ for id_ in ids if values["contradicts_itself"][id_] == 1] == ["gagarin-3", "telescopes-2"]
    dependent = [id_ for id_ in ids if values["standalone_question"][id_] == 0]
    assert dependent == ["gagarin-2", "telescopes-2", "pluto-3"]
    assert sorted(ids, key=values["grounding"].get)[:2] == ["pluto-3", "gagarin-3"]


def test_a_question_that_needs_the_history_is_answered_only_if_it_is_rewritten():
    asked = ["How long did his flight take?", "How long did the flight of Yuri Gagarin take?"]
    alone, rewritten = replies("rag:answer", asked)
    assert alone.response.startswith("I don't know.")
    assert "108 minutes" in rewritten.response


def test_it_answers_alike_behind_http(server):
    asked = [row["question"] for row in questions()] + ["zzz", "", "\ud800 Ganymede \x00"]
    by_http, direct = replies(server, asked), replies("rag:answer", asked)
    assert [reply[:2] for reply in by_http] == [reply[:2] for reply in direct]


def test_the_server_reports_a_wrong_field(server):
    async def run():
        async with open_target(TargetSpec(where=server, question_field="query")) as target:
            await target.answer("Who?")

    with pytest.raises(TargetError, match=r"answered 400 \(Bad Request\): .*Check question_field"):
        anyio.run(run)


@pytest.mark.slow
def test_from_pages_to_a_diagnosis_tells_the_variants_apart(tmp_path):
    for page in (FOLDER.parents[1] / "docs").glob("*.md"):
        shutil.copy(page, tmp_path)
    command = ["sh", "from_pages.sh", str(tmp_path)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    found = dict(re.findall(r"^(worse_\w+): (\w+) rose most", done.stdout, re.MULTILINE))
    causes = ("retrieval_miss", "ignored_context", "contradicted_fact")
    assert found == dict(zip(VARIANTS, causes, strict=True))
