import asyncio

import pytest

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.protocols import Reply
from sgi.kernel.sample_parts import NO_COSTS
from sgi.service.service import RAGEvalService
from sgi.service.shared_resources import shared_target
from sgi.target import TargetSpec
from support.target_server import TargetServer


def answer(question):
    return question.upper(), ["a passage"]


async def answer_later(question):
    await asyncio.sleep(0)
    return answer(question)


class Answering:
    def __call__(self, question):
        return answer(question)


async def ask(target, *questions):
    try:
        replies = [await (await target.get()).answer(question) for question in questions or ("who?",)]
        return [reply._replace(costs=NO_COSTS) for reply in replies]
    finally:
        await target.aclose()


@pytest.mark.parametrize("wanted", [answer, answer_later, Answering()], ids=["sync", "async", "object"])
def test_a_function_answers(wanted):
    assert asyncio.run(ask(shared_target(wanted))) == [Reply("WHO?", ("a passage",))]


@pytest.mark.parametrize("wanted", ["textwrap:dedent", TargetSpec(where="textwrap:dedent")])
def test_a_name_or_a_spec_is_opened(wanted):
    assert asyncio.run(ask(shared_target(wanted), " who?")) == [Reply("who?")]


def test_a_url_is_asked(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with TargetServer() as server:
        assert asyncio.run(ask(shared_target(server.url), "a", "b")) == [
            Reply("a", ("a passage",)),
            Reply("b", ("a passage",)),
        ]
    assert [asked.body["question"] for asked in server.requests] == ["a", "b"]


@pytest.mark.parametrize(
    ("wanted", "error", "words"),
    [
        (3, UsageError, "int is not a target"),
        ("rag", UsageError, "is not the name of a target"),
        ("http://", UsageError, "not an http"),
    ],
)
def test_what_is_no_target_is_told_at_once(wanted, error, words):
    with pytest.raises(error, match=words):
        RAGEvalService(wanted)


def test_a_name_that_nothing_answers_to_is_told_when_it_is_asked():
    with pytest.raises(UnknownNameError, match="dedemt"):
        asyncio.run(ask(shared_target("textwrap:dedemt")))
    with pytest.raises(UsageError):
        asyncio.run(ask(shared_target(None)))
