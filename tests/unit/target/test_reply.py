import pickle
import urllib.error
from collections import UserDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from sgi.kernel.errors import TargetError
from sgi.kernel.protocols import Reply
from sgi.kernel.sample_parts import AnswerCosts, Ranking
from sgi.target.python import raised_error
from sgi.target.reply import reply_of
from sgi.target.target_limits import TransientError

HOSTILE = ["\x00", "\x1b[2J\u202e", "a" * 1_000_000, "", "  \n"]


Scored = namedtuple("Scored", "score answer contexts")  # noqa: PYI024 - as users write them


@dataclass
class Answered:
    answer: str
    contexts: list[str] | None = None


@pytest.mark.parametrize(
    ("result", "reply"),
    [
        ("a", Reply("a")),
        (("a", ["p", "q"]), Reply("a", ("p", "q"))),
        (("a", None), Reply("a")),
        ({"response": "a", "contexts": ("p",), "score": 1}, Reply("a", ("p",))),
        (UserDict(answer="a", contexts=None), Reply("a")),
        (Answered("a", ["p"]), Reply("a", ("p",))),
        (SimpleNamespace(response="a"), Reply("a")),
        (Scored(0.5, "a", ["p"]), Reply("a", ("p",))),
    ],
)
def test_what_stands_for_a_reply(result, reply):
    assert reply_of("rag:answer", result) == reply


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_stay_as_they_are(text):
    assert reply_of("rag:answer", (text, [text])) == Reply(text, (text,))


@pytest.mark.parametrize("half", ["\ud800", "a\udfff", "\ude00\ud83d"])
@pytest.mark.parametrize(
    ("result", "what"),
    [
        (lambda text: text, "the answer"),
        (lambda text: {"answer": text}, "the answer"),
        (lambda text: ("a", text), "context 0"),
        (lambda text: SimpleNamespace(response="a", contexts=["p", text]), "context 1"),
    ],
)
def test_half_a_character_is_no_answer(result, what, half):
    with pytest.raises(TargetError, match=f"^rag:answer: {what} has a lone surrogate.*truncated or decoded"):
        reply_of("rag:answer", result(half))


def test_texts_of_other_types_become_plain():
    reply = reply_of("rag:answer", (np.str_("a"), [np.str_("p")]))
    assert (type(reply.response), type(reply.contexts[0])) == (str, str)


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (None, "returned None"),
        (b"bytes", "of type bytes"),
        (["a", ["p"]], "of type list"),
        (("a", ["p"], 1), "a tuple of 3"),
        ({"text": "a"}, "a mapping without 'answer'"),
        ((x for x in "ab"), "of type generator"),
    ],
)
def test_anything_else_is_no_answer(result, problem):
    with pytest.raises(TargetError, match=f"^rag:answer .*{problem}.*Return a text, "):
        reply_of("rag:answer", result)


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ({"answer": None}, "None as answer"),
        ((1, ["p"]), "of type int as the first item"),
        (("a", {"p": 1}), "of type dict as contexts"),
        (("a", ["p", 3]), "of type int as contexts 1"),
        (("a", b"p"), "of type bytes as contexts"),
    ],
)
def test_a_part_of_another_type_is_named(result, problem):
    with pytest.raises(TargetError, match=problem):
        reply_of("rag:answer", result)


@pytest.mark.parametrize(
    ("parts", "costs"),
    [
        ({"usage": {"prompt_tokens": 300, "completion_tokens": 20}}, AnswerCosts(None, 300, 20)),
        ({"usage": SimpleNamespace(input_tokens=300, output_tokens=20)}, AnswerCosts(None, 300, 20)),
        ({"usage": {"prompt_tokens": None, "total_tokens": 9}, "cost": 0}, AnswerCosts(cost=0.0)),
        ({"usage": None, "cost": None}, AnswerCosts()),
    ],
)
def test_usage_and_cost_of_an_answer(parts, costs):
    assert reply_of("rag:answer", {"answer": "a", **parts}).costs == costs
    assert reply_of("rag:answer", SimpleNamespace(answer="a", **parts)).costs == costs


@pytest.mark.parametrize("value", [-1, True, "3", float("nan"), float("inf"), 10**400, [1]])
@pytest.mark.parametrize("field", ["cost", "usage.prompt_tokens", "usage.output_tokens"])
def test_a_wrong_cost_names_its_field(field, value):
    name, _, key = field.partition(".")
    with pytest.raises(TargetError, match=f"^rag:answer returned a wrong {field}"):
        reply_of("rag:answer", {"answer": "a", name: {key: value} if key else value})


@pytest.mark.parametrize("usage", [300, "300", [300]])
def test_usage_must_have_names(usage):
    with pytest.raises(TargetError, match="as usage"):
        reply_of("rag:answer", {"answer": "a", "usage": usage})


@pytest.mark.parametrize(
    ("parts", "ranking"),
    [
        ({"context_ids": ["x", 7]}, Ranking(("x", "7"))),
        ({"context_scores": np.array([2, 0.5], dtype=np.float32)}, Ranking(None, (2.0, 0.5))),
        ({"context_ids": ("x", "y"), "context_scores": [1, -3]}, Ranking(("x", "y"), (1.0, -3.0))),
        ({"context_ids": None, "context_scores": None}, Ranking()),
    ],
)
def test_ids_and_scores_of_passages(parts, ranking):
    assert reply_of("rag:answer", {"answer": "a", "contexts": ["p", "q"], **parts}).ranking == ranking
    reply = reply_of("rag:answer", SimpleNamespace(answer="a", contexts=["p", "q"], **parts))
    assert reply == Reply("a", ("p", "q"), ranking=ranking)


def test_ids_without_texts():
    assert reply_of("rag:answer", {"answer": "a", "context_ids": ["x"]}).ranking == Ranking(("x",))
    assert reply_of("rag:answer", {"answer": "a", "contexts": [], "context_ids": []}).ranking == Ranking(())


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"context_ids": ["x", "x"]}, "context_ids: the id 'x' occurs twice"),
        ({"context_ids": ["x"]}, "context_ids: it has 1 values, but contexts has 2"),
        ({"context_scores": [1.0]}, "context_scores: it has 1 values, but contexts has 2"),
        ({"context_scores": [1.0, float("nan")]}, "context_scores: score 2: expected a number|finite"),
        ({"contexts": None, "context_scores": [1.0]}, "context_scores: there are no contexts"),
        (
            {"contexts": None, "context_ids": ["x"], "context_scores": [1, 2]},
            "context_scores: it has 2 values, but context_ids has 1",
        ),
    ],
)
def test_wrong_ids_and_scores_name_their_field(parts, problem):
    with pytest.raises(TargetError, match=f"^rag:answer returned wrong {problem}"):
        reply_of("rag:answer", {"answer": "a", "contexts": ["p", "q"], **parts})


def test_what_a_function_raised_is_told_by_type_and_message():
    error = raised_error("rag:answer", ValueError("no\nindex"))
    assert type(error) is TargetError
    assert str(error) == "rag:answer raised ValueError: no index."
    assert str(raised_error("rag:answer", SystemExit())) == "rag:answer raised SystemExit."


def test_an_error_that_cannot_be_told_is_told_by_its_type():
    class Mute(Exception):  # noqa: N818 - a user's error has any name
        def __str__(self):
            raise RuntimeError("no words")

    assert str(raised_error("rag:answer", Mute())) == "rag:answer raised Mute."


def fail_with(error):
    raise error


def chained(cause, *, explicit):
    try:
        try:
            fail_with(cause)
        except Exception as error:
            if explicit:
                raise RuntimeError("no answer") from error
            raise RuntimeError("no answer")  # noqa: B904 - as client libraries do
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (ConnectionResetError("gone"), True),
        (chained(ConnectionRefusedError("no"), explicit=True), True),
        (chained(KeyError("k"), explicit=True), False),
        (FileNotFoundError("index.bin"), False),
        (urllib.error.URLError("unknown url type"), False),
        (MemoryError(), False),
    ],
)
def test_a_broken_connection_may_be_whole_next_time(error, transient):
    assert isinstance(raised_error("rag:answer", error), TransientError) is transient


def test_a_circle_of_causes_ends():
    one, other = ValueError("a"), ValueError("b")
    one.__cause__, other.__cause__ = other, one
    assert type(raised_error("rag:answer", one)) is TargetError


def test_a_transient_error_crosses_processes_with_what_it_knows():
    copy = pickle.loads(pickle.dumps(TransientError("busy", hint="Wait.", retry_after=3.0)))
    assert (copy.message, copy.hint, copy.retry_after) == ("busy", "Wait.", 3.0)
