"""Whatever a target sends or a user writes, the outcome is a reply or one of our errors."""

import json

import anyio
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import SgiError, TargetError, UsageError
from sgi.kernel.protocols import Reply
from sgi.kernel.raw_values import check_path, get_path, set_path
from sgi.target.http import HttpTarget
from sgi.target.python import PythonTarget, raised_error
from sgi.target.target_spec import Environment, TargetSpec, has_variable

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
SCALARS = st.none() | st.booleans() | st.floats() | st.integers() | ANY_TEXT
DOCUMENTS = st.recursive(
    SCALARS,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(ANY_TEXT, part, max_size=4),
    max_leaves=12,
)
JSON = DOCUMENTS.map(lambda document: json.dumps(document).encode())
NAMES = st.from_regex(r"[a-z]{1,3}", fullmatch=True)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(".".join)


def read(raw, secrets=(), **settings):
    """What a target makes of these bytes; nothing is sent."""
    spec = TargetSpec(where="http://127.0.0.1:1/a", **settings)
    return HttpTarget(spec, None, url=spec.where, body={}, secrets=secrets)._reply(raw)


def outcome(function, *arguments, errors=SgiError, **settings):
    """What a call returns, and the error of this kind that it raises instead."""
    try:
        return function(*arguments, **settings), None
    except errors as error:
        return None, error


@given(st.binary() | JSON, st.sampled_from(["a", "0.a", "a.b"]))
def test_any_bytes_are_a_reply_or_an_error_of_the_target(raw, path):
    reply, error = outcome(read, raw, errors=TargetError, answer_field=path, contexts_field="*")
    if error is None:
        assert all(isinstance(text, str) for text in (reply.response, *reply.contexts))
    else:
        assert str(error).isprintable()
        assert len(str(error)) < 1000


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3))
def test_texts_come_through_json_as_they_are(answer, contexts):
    sent = json.loads(
        json.dumps({"answer": answer, "contexts": contexts})
    )  # joins halves of a surrogate pair
    reply, error = outcome(read, json.dumps(sent).encode(), errors=TargetError)
    if any("\ud800" <= sign <= "\udfff" for sign in "".join([sent["answer"], *sent["contexts"]])):
        assert "holds a lone surrogate" in str(error)
    else:
        assert reply == Reply(sent["answer"], tuple(sent["contexts"]))


@given(st.text('QXZ/+" ', max_size=12), ANY_TEXT)
def test_a_secret_is_in_no_error(ending, around):
    secret = f"Q{ending}X"
    for raw in (
        f"{around}{secret}{around}".encode(errors="replace"),
        json.dumps({around + secret: 1}).encode(),
    ):
        _, error = outcome(read, raw, secrets=[secret])
        assert secret not in str(error)


@given(PATHS, ANY_TEXT)
def test_what_is_placed_is_found(path, value):
    assert get_path(set_path({"CONSTANT": 1}, path, value), check_path(path, every=False)) == value


@given(DOCUMENTS, st.lists(NAMES | st.sampled_from(["*", "0", "1"]), min_size=1, max_size=4).map(".".join))
def test_a_path_leads_somewhere_or_says_where_it_ends(document, path):
    _, error = outcome(get_path, document, path, errors=LookupError)
    assert error is None or path in str(error.args[0])


@given(ANY_TEXT)
def test_any_text_is_a_target_or_refused(where):
    spec, error = outcome(TargetSpec, where=where, errors=UsageError)
    assert error is not None or TargetSpec.model_validate_json(spec.model_dump_json()) == spec


@given(st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3), DOCUMENTS, ANY_TEXT)
def test_any_settings_are_taken_or_refused(headers, body, path):
    settings = {"headers": headers, "body": {"b": body}, "answer_field": path, "contexts_field": path}
    spec, error = outcome(TargetSpec, where="http://h/", **settings)
    assert str(error) if spec is None else spec.answer_field == path


@given(DOCUMENTS | st.binary() | st.tuples(DOCUMENTS, DOCUMENTS))
def test_any_result_is_a_reply_or_an_error_of_the_target(result):
    async def function(question):
        return result

    reply, error = outcome(anyio.run, PythonTarget("rag:answer", function).answer, "", errors=TargetError)
    if error is None:
        assert isinstance(reply, Reply)
        assert all(text.encode().decode() == text for text in (reply.response, *(reply.contexts or ())))
    else:
        assert "rag:answer returned" in str(error) or "holds a lone surrogate" in str(error)


@given(ANY_TEXT)
def test_errors_of_a_function_are_printable(text):
    assert str(raised_error("rag:answer", ValueError(text))).isprintable()


@given(ANY_TEXT)
def test_expanding_changes_only_names_of_variables(text):
    assert has_variable(text) or Environment().expand(text) == text
