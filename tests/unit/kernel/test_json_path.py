from __future__ import annotations

import pytest

from sgi.kernel.raw_values import PathAbsentError, check_path, get_path, kind_of, set_path

REPLY = {
    "choices": [{"message": {"content": "Mars"}}],
    "sources": [{"text": "a", "parts": [{"t": 1}, {"t": 2}]}, {"text": "b", "parts": [{"t": 3}]}],
    "0": "zero",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("choices.0.message.content", "Mars"),
        ("sources.*.text", ["a", "b"]),
        ("sources.1.text", "b"),
        ("sources.*.parts.*.t", [1, 2, 3]),
        ("0", "zero"),
    ],
)
def test_what_stands_at_a_path(path, value):
    assert get_path(REPLY, path) == value


def test_every_item_of_no_list_is_an_empty_list():
    assert get_path({"sources": []}, "sources.*.text") == []


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("answer", "no answer: the reply is an object with 'choices', 'sources', '0'"),
        ("choices.1.message", "no choices.1.message: choices is a list of 1"),
        ("choices.²", "no choices.²: choices is a list of 1"),
        ("choices.0.message.content.more", "choices.0.message.content is a text"),
        ("sources.*.name", "no sources.*.name: sources.0 is an object with 'text', 'parts'"),
        ("choices.0.message.*", "choices.0.message is an object"),
    ],
)
def test_a_path_that_leads_nowhere_says_how_far_it_leads(path, problem):
    with pytest.raises(LookupError) as caught:
        get_path(REPLY, path)
    assert problem in str(caught.value.args[0])


@pytest.mark.parametrize(
    ("document", "path", "absent"),
    [
        ({"a": None}, "a.b", True),
        ({"a": []}, "a.0", True),
        (None, "a", True),
        ({"a": "text"}, "a.b", False),
        ({"a": {}}, "a.*", False),
        ({"a": [{}]}, "a.*.b", False),
    ],
)
def test_a_value_that_is_absent_is_told_from_a_path_that_does_not_fit(document, path, absent):
    with pytest.raises(LookupError) as caught:
        get_path(document, path)
    assert isinstance(caught.value, PathAbsentError) is absent


def test_few_names_of_an_object_are_shown():
    assert kind_of({str(index): 0 for index in range(9)}) == "an object with '0', '1', '2', '3', '4', …"


def test_kinds_of_json():
    values = [None, True, False, 1.5, "", [], {}, {"a": 1}]
    assert [kind_of(value) for value in values] == [
        "null",
        "true",
        "false",
        "a number",
        "a text",
        "a list of 0",
        "an empty object",
        "an object with 'a'",
    ]


def test_a_question_is_placed_where_the_path_says_and_the_body_stays_as_it_was():
    body = {"input": {"lang": "en"}, "messages": [{"role": "user"}]}
    assert set_path(body, "input.query", "Who?")["input"] == {"lang": "en", "query": "Who?"}
    assert set_path(body, "a.b.c", "Who?")["a"] == {"b": {"c": "Who?"}}
    assert set_path(body, "messages.0.content", "Who?")["messages"][0] == {"role": "user", "content": "Who?"}
    assert body == {"input": {"lang": "en"}, "messages": [{"role": "user"}]}


@pytest.mark.parametrize(
    "path", ["taken", "taken.query", "list.1.text", "list.x.text", "list.0", "number.a.b"]
)
def test_a_place_that_is_taken_or_not_there_is_refused(path):
    with pytest.raises(ValueError, match=path.partition(".")[0]):
        set_path({"taken": "x", "list": [{}], "number": 3}, path, "Who?")


@pytest.mark.parametrize("path", ["", ".", "a..b", ".a", "a.", "a. b", "a[0]", "sources[*].text"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match="dots"):
        check_path(path, every=True)


@pytest.mark.parametrize("path", ["a\x00", "a\nb", "\ud800"])
def test_a_path_can_be_printed(path):
    with pytest.raises(ValueError, match="control characters"):
        check_path(path, every=True)


def test_a_star_is_refused_where_one_text_is_wanted():
    assert check_path("a.*.b", every=True) == "a.*.b"
    with pytest.raises(ValueError, match="one text"):
        check_path("a.*.b", every=False)
