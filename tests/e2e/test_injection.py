"""Hostile texts cannot steer what is asked, how replies are counted, or which text a verdict is of."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from sgi.judge.load import open_judge
from sgi.judge.spec import JudgeSpec
from sgi.metrics.judged.claims import EXTRACT
from sgi.store.cache import MemoryCache
from support.injections import ATTACKS, JUDGED, PROMPTS, sections_of, tag_of
from support.judge_server import JudgeServer, Says
from support.scripted import ROW

pytestmark = pytest.mark.usefixtures("no_remote_settings")

PLACES = {f"question {number}" for number in range(1, 11)}
LONG = 200_000  # tokens of passages in one request, so that no attack is shown in portions


def wanted(asked):
    """How many verdicts the schema of a request demands; None where it demands no list of them."""
    found = re.search(r'"verdicts": \{[^}]*?\}, "maxItems": (\d+)', json.dumps(asked.body["response_format"]))
    schema = asked.body["response_format"]["json_schema"]["schema"]["properties"].get("verdicts")
    assert (schema is None) == (found is None) or schema["minItems"] == schema["maxItems"]
    return schema and schema["minItems"]


def of_schema(asked):
    """The reply of the prompt's first example, with a verdict for each entry."""
    example = PROMPTS[asked.system].examples[0].reply
    items = len(sections_of(first_text(asked))[PROMPTS[asked.system].items]) if items_of(asked) else None
    return Says(type(example).typical(example, items).model_dump_json())


def items_of(asked):
    return PROMPTS[asked.system].items


def first_text(asked):
    return asked.body["messages"][1]["content"]


def run(server, work):
    """What the work makes with a judge at the server, or the judge's error."""

    async def asking():
        spec = JudgeSpec(model=f"openai:m@{server.url}", timeout=60, budget=LONG)
        async with open_judge(spec, MemoryCache()) as judge:
            return await work(judge)

    return asyncio.run(asking())


@pytest.fixture(scope="module")
def requests():
    """All that all judged metrics ask about each hostile row, as it came over the wire."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        with JudgeServer(replies=of_schema) as server:

            async def ask_all(judge, row):
                return [await kind().ask(row, judge) for kind in JUDGED.values()]

            for name, row in ATTACKS.items():
                server.asked.clear()
                run(server, lambda judge, row=row: ask_all(judge, row))
                found[name] = list(server.asked)
    return found


def test_there_are_enough_attacks_and_they_reach_each_field():
    assert len(ATTACKS) >= 25
    for field in ("question", "contexts", "response", "reference"):
        assert any(getattr(row, field) != getattr(ROW, field) for row in ATTACKS.values())


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_asked_is_only_ever_the_row_between_markers(name, requests):
    row = ATTACKS[name]
    made = {claim for example in EXTRACT.examples for claim in example.reply.claims} | PLACES
    allowed = {row.question, row.response, row.reference, *row.contexts, *made}
    assert {PROMPTS[asked.system].name for asked in requests[name]} == NAMES
    for asked in requests[name]:
        assert [message["role"] for message in asked.body["messages"]] == ["system", "user"]
        sections = sections_of(asked.text)
        prompt = PROMPTS[asked.system]
        assert list(sections) == list(prompt.examples[0].sections) or "accepted_answers" in sections
        shown = [text for body in sections.values() for text in ([body] if isinstance(body, str) else body)]
        assert set(shown) <= allowed
        assert asked.text.count(tag_of(asked.text)) == 2 * len(sections) + sum(
            len(body) for body in sections.values() if isinstance(body, list)
        )
        assert wanted(asked) == (len(sections[prompt.items]) if items_verdicts(prompt) else None)


def items_verdicts(prompt):
    return "verdicts" in type(prompt.examples[0].reply).model_fields


NAMES = {
    "claims.extract",
    "claims.verify",
    "context_precision.relevance",
    "answer_relevance.questions",
    "factual_accuracy.criteria",
    "answer_classification.label",
    "ratings.all",
}


def test_instructions_are_the_same_whatever_is_judged(requests):
    clean = {asked.system for asked in requests["an order in the response"]}
    for asked in (asked for several in requests.values() for asked in several):
        assert asked.system in clean
        assert asked.system in PROMPTS
