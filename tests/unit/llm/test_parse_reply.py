"""Replies are read strictly, whatever stands in them."""

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import JudgeMalformedError, JudgeRefusedError
from sgi.kernel.prompts import ReplyModel, Verdict, Verdicts
from sgi.llm.calls import Completion, Finish
from sgi.llm.parse_reply import InvalidReplyError, parse_reply
from sgi.metrics.judged.reply_types import Binary, Reason
from support.judge_server import Supported, verdicts_reply


class Rating(ReplyModel):
    reason: str
    rating: float


def unfit(text, schema=Rating, context=None):
    with pytest.raises(InvalidReplyError) as caught:
        parse_reply(Completion(text), schema, context)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{" * 5000, "no JSON"),
        ('{"a":' * 100_000, "nested too deep"),
        ('{"reason": "x", "rating": 1e999}', "beyond all bounds"),
        ('{"reason": "x", "rating": -Infinity}', "-Infinity, which is not a number"),
        ('{"reason": "x", "rating": 1, "rating": 2}', "the key 'rating' twice"),
        ('{"reason": "x", "rating": 1} {"reason": "x", "rating": 2}', "more than one"),
        ('{"outer": {"reason": "x", "rating": 1}', "no JSON"),
        ('"{\\"reason\\": \\"x\\", \\"rating\\": 1}"', "the reply: input should be an object"),
        ('{"reason": "x", "rating": "1"}', 'rating: input should be a valid number, found "1"'),
        ('{"reason": "\\ud800", "rating": 1}', "invalid JSON"),
        ('{"reason": "x", "rating": ' + "9" * 5000 + "}", ""),
        ("null", "found null"),
    ],
)
def test_hostile_and_broken_json_is_unfit(text, problem):
    assert problem in unfit(text)


def test_a_problem_names_place_and_finding_briefly():
    message = unfit(json.dumps({"reason": ["x" * 1000], "rating": "\x1b[31m"}))
    assert re.search(r'reason: .*, found \["x{50,60}…; rating: .*found "\\u001b\[31m"', message)
    assert len(message) < 400
    many = json.dumps({"verdicts": [{"index": "x"}] * 50})
    assert unfit(many, Verdicts[Supported], {"items": 50}).count("verdicts[") == 3


class Judged(Verdict):
    reason: Reason
    rating: Binary


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rating": "yes"}, 'verdicts[2].rating: a whole number is wanted, found "yes"'),
        ({"rating": 2}, "verdicts[2].rating: input should be 0 or 1, found 2"),
        ({"rating": ["x" * 90]}, 'verdicts[2].rating: a whole number is wanted, found ["' + "x" * 58 + "…"),
        ({"reason": " "}, 'verdicts[2].reason: the text is blank, found " "'),
        ({"reason": "y" * 5000}, 'characters, more than 4000, found "' + "y" * 59 + "…"),
        ({"index": "3"}, 'verdicts[2].index: input should be a valid integer, found "3"'),
    ],
)
def test_the_field_at_fault_and_what_stands_there_are_named(changes, message):
    rows = [{"index": index, "reason": "r", "rating": 0} for index in (1, 2, 3)]
    rows[2] |= changes
    assert message in unfit(json.dumps({"verdicts": rows}), Verdicts[Judged], {"items": 3})


def test_a_field_that_is_missing_and_verdicts_that_are_miscounted_show_no_object():
    message = unfit('{"verdicts": [{"index": 1, "secret": "x"}]}', Verdicts[Judged], {"items": 1})
    assert message.endswith("schema: verdicts[0].reason: field required; verdicts[0].rating: field required")
    message = unfit('{"verdicts": []}', Verdicts[Judged], {"items": 1})
    assert message.endswith(
        "schema: 1 verdicts were wanted, one for each entry, and 0 came; entries without a verdict: 1"
    )


@pytest.mark.parametrize("extra", ["confidence", "claim", "notes", "rationale"])
def test_keys_beside_the_wanted_ones_are_ignored(extra):
    row = {"index": 1, "reason": "r", "rating": 1, extra: "of no use"}
    text = json.dumps({extra: [1, 2], "verdicts": [row]})
    assert parse_reply(Completion(text), Verdicts[Judged], {"items": 1}).verdicts == (
        Judged(index=1, reason="r", rating=1),
    )


@pytest.mark.parametrize("extra", ["Rating", "RATING", "rat_ing", "rating ", "-rating"])
def test_of_keys_that_are_nearly_the_same_none_is_taken(extra):
    for one, other in ((extra, "rating"), ("rating", extra)):
        text = json.dumps({"verdicts": [{"index": 1, "reason": "r", one: 1, other: 0}]})
        message = unfit(text, Verdicts[Judged], {"items": 1})
        assert message == f"it has the keys {one.strip()!r} and {other.strip()!r} in one object"


@pytest.mark.parametrize(
    "text",
    [
        *("I’m sorry, I can’t do that.", "I am unable to assess this.", "As an AI language model, I …"),
        *("**I cannot** continue.", "My apologies, but no."),
        *("<think>Should I {judge}?</think>I cannot do that.", "Es tut mir leid, das bewerte ich nicht."),
        *("Ich kann diese Anfrage leider nicht beantworten.", "Je suis vraiment désolée, mais non."),
        *("Je ne peux pas répondre à cette demande.", "Lo siento, no puedo ayudar con eso."),
        *("Mi dispiace, ma non posso.", "Desculpe, não posso ajudar."),
        *("Ik kan u daar helaas niet mee helpen.", "Przykro mi, ale nie mogę."),
        *("Извините, я не могу с этим помочь.", "عذرًا، لا أستطيع المساعدة."),
        *("很抱歉，我无法回答这个问题。", "我无法评估这段内容。"),
        *("申し訳ありませんが、お答えできません。", "죄송하지만 도와드릴 수 없습니다."),
    ],
)
def test_plain_refusals(text):
    with pytest.raises(JudgeRefusedError, match="declined"):
        parse_reply(Completion(text), Rating)


@pytest.mark.parametrize(
    "text",
    [
        *("Sorrow is not a claim.", "I can see two claims.", "The answer is unable to …"),
        *("Ich kann zwei Aussagen sehen.", "Je suis d'accord.", "我认为第一条成立。"),
    ],
)
def test_what_only_resembles_a_refusal_is_unfit(text):
    assert "no JSON object" in unfit(text)


GOOD = '{"reason": "see {1} and [2]", "rating": 1}'
OTHER = '{"reason": "see {1} and [2]", "rating": 0}'


@pytest.mark.parametrize(
    "text",
    [
        f"I compared [1] with [2].\n```json\n{GOOD}\n```\nClaim [1] is {{ok}}.",
        f"An open [ and a :{{ before the fence.\n```\n{GOOD}\n```",
        f"Claim [1] is {{ok}}, [ is open.\n</think>\n\n{GOOD}",
        f"A draft: {OTHER}\n</think>{GOOD}",
        f"<thinking>Claim [1]: {OTHER}</thinking>\n{GOOD}",
        f"<think>One {{</think><THINK>two [</THINK> {GOOD}",
        f"[THINK]Hm [[/THINK]{GOOD}",
        f"<|channel|>analysis<|message|>Hm {{<|end|><|channel|>final<|message|>{GOOD}",
        f"The form is {{rating: ...}}. Here it is:\n{GOOD}",
        f'The form is {{"reason": "…", "rating": ...}}, so {{}} is not. {GOOD}',
        f"{GOOD}\nThat is, [1] supports {{it}}.",
        f"{GOOD}\nAgain:\n```json\n{GOOD}\n```",
    ],
)
def test_the_only_object_is_found_among_reasoning_brackets_and_braces(text):
    assert parse_reply(Completion(text), Rating) == Rating(reason="see {1} and [2]", rating=1.0)


@pytest.mark.parametrize(
    "text",
    [
        f"{GOOD}\n{OTHER}",
        f"{OTHER}<think>Hm.</think>{GOOD}",
        f"{OTHER} </think> {OTHER} </think> {GOOD}",
        f"```json\n{OTHER}\n```\nNo:\n```json\n{GOOD}\n```",
        f"```json\n{GOOD}\n```\n{OTHER}",
        f"```json\n{GOOD}\n``` {OTHER[:-4]}",
        f"[{GOOD}",
        f"so: [{GOOD}, {GOOD}]",
        f"{{outer: {GOOD}}}",
        f'{{"outer": {GOOD}',
        f'{{"reason": "...", "reason": "x", "rating": 0}} {GOOD}',
        f"{{'rating': 0}} {GOOD}",
        f"<think>{GOOD}</think>",
        " ".join([GOOD] * 200),
    ],
)
def test_of_several_objects_and_pieces_none_is_taken(text):
    assert unfit(text)


@pytest.mark.parametrize(
    "piece", ["{", "{ ", '{"a":1}', '{"', "<think>", "</think>", "```\n", '{"a": {"b"', "[", '{"a":"']
)
def test_a_long_text_of_pieces_is_read_in_time(piece):
    began = time.process_time()
    unfit(piece * (200_000 // len(piece)))
    assert time.process_time() - began < 5


def test_reasons_go_before_what_the_reply_looks_like():
    good = '{"reason": "x", "rating": 1}'
    with pytest.raises(JudgeRefusedError, match="declined: No"):
        parse_reply(Completion(good, refusal="No."), Rating)
    with pytest.raises(JudgeRefusedError, match="filter"):
        parse_reply(Completion(good, Finish.FILTER), Rating)
    with pytest.raises(JudgeMalformedError, match="truncated after 9 tokens"):
        parse_reply(Completion(good, Finish.LENGTH, output_tokens=9), Rating)
    assert parse_reply(Completion(good), Rating) == Rating(reason="x", rating=1.0)


prose = st.text(st.characters(exclude_characters="[]{}", exclude_categories=["Cs"]), max_size=30)


@given(
    prose,
    prose,
    st.text(st.characters(exclude_categories=["Cs"])),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_an_object_is_found_in_any_prose(before, after, reason, rating):
    body = json.dumps({"reason": reason, "rating": rating})
    assert parse_reply(Completion(f"{before}{body}{after}"), Rating) == Rating(reason=reason, rating=rating)


@given(st.integers(1, 6), st.lists(st.integers(-1, 8), max_size=8))
def test_verdicts_are_read_only_if_there_is_one_for_each(items, indices):
    reply = json.dumps({"verdicts": [{"index": i, "reason": "", "supported": True} for i in indices]})
    try:
        reply_model = parse_reply(Completion(reply), Verdicts[Supported], {"items": items})
    except InvalidReplyError:
        assert sorted(indices) != list(range(1, items + 1))
    else:
        assert [verdict.index for verdict in reply_model.verdicts] == list(range(1, items + 1))


@given(st.integers(1, len(verdicts_reply("ynyn")) - 1))
def test_no_beginning_of_a_reply_is_taken_for_the_reply(length):
    text = verdicts_reply("ynyn")[:length]
    with pytest.raises(InvalidReplyError):
        parse_reply(Completion(text), Verdicts[Supported], {"items": 4})
