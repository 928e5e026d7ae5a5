"""Statuses of a target over HTTP: which errors pass, and where redirects lead."""

import gzip
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anyio
import pytest

from sgi.kernel.errors import MissingExtraError, TargetError, UsageError
from sgi.kernel.protocols import Reply
from sgi.kernel.sample_parts import AnswerCosts, Ranking
from sgi.target import TargetSpec
from sgi.target.http import MAX_REPLY, open_http
from sgi.target.target_limits import TransientError
from support.target_calls import HEADERS, PRIVATE, ask, failure
from support.target_server import TargetReply, TargetServer

pytestmark = pytest.mark.usefixtures("secret_header")


def test_a_question_is_posted_and_its_answer_read():
    with TargetServer() as server:
        assert ask(server.url, "Who?") == [Reply("Who?", ("a passage",))]
    assert server.requests[0].body == {"question": "Who?"}
    assert server.requests[0].headers["content-type"] == "application/json"


def test_body_headers_and_query_are_sent_with_their_secrets():
    settings = {"headers": HEADERS, "body": {"top_k": 3, "auth": {"token": "${RAG_TEST_KEY}"}}}
    with TargetServer([TargetReply.of({"answer": "a"})]) as server:
        ask(f"{server.url}?v=2&key=${{RAG_TEST_KEY}}", question_field="input.query", **settings)
    request = server.requests[0]
    assert request.headers["authorization"] == f"Bearer {PRIVATE}"
    assert request.body == {"top_k": 3, "auth": {"token": PRIVATE}, "input": {"query": "Who?"}}
    assert request.path == "/answer?v=2&key=s3cr3t%2Fva%20lue%2B%22x%22"


def test_the_fingerprint_names_secrets_and_holds_none():
    async def fingerprint():
        async with open_http(TargetSpec(where="http://127.0.0.1:1/a?v=2&key=${RAG_TEST_KEY}")) as target:
            return target.fingerprint

    assert anyio.run(fingerprint) == "http:http://127.0.0.1:1/a?v=2&key=${RAG_TEST_KEY}"


@pytest.mark.parametrize(
    ("document", "settings", "reply"),
    [
        ({"answer": "a"}, {}, Reply("a")),
        ({"answer": "a", "contexts": []}, {}, Reply("a", ())),
        ({"answer": "a", "contexts": 3}, {"contexts_field": None}, Reply("a")),
        (
            {"choices": [{"message": {"content": "a"}}], "sources": [{"text": "p"}, {"text": "q"}]},
            {"answer_field": "choices.0.message.content", "contexts_field": "sources.*.text"},
            Reply("a", ("p", "q")),
        ),
        (
            {"answer": "a", "usage": {"prompt_tokens": 30, "completion_tokens": 2}, "cost": 0.5},
            {},
            Reply("a", costs=AnswerCosts(None, 30, 2, 0.5)),
        ),
        (
            {"answer": "a", "contexts": ["p", "q"], "context_ids": ["x", 7], "context_scores": [2, 0.5]},
            {},
            Reply("a", ("p", "q"), ranking=Ranking(("x", "7"), (2.0, 0.5))),
        ),
        (
            {"answer": "a", "hits": [{"id": "x", "score": 1.5}, {"id": "y", "score": -1}], "context_ids": 3},
            {"context_ids_field": "hits.*.id", "context_scores_field": "hits.*.score?"},
            Reply("a", ranking=Ranking(("x", "y"), (1.5, -1.0))),
        ),
    ],
)
def test_where_answers_and_passages_stand(document, settings, reply):
    with TargetServer([TargetReply.of(document)]) as server:
        assert ask(server.url, **settings) == [reply]


@pytest.mark.parametrize("text", ["\x00", "\x1b[2J\u202e", "a\r\nb", "ä漢" * 500_000, ""])
def test_texts_go_and_come_as_they_are(text):
    with TargetServer() as server:
        assert ask(server.url, text) == [Reply(text, ("a passage",))]


@pytest.mark.parametrize(
    ("document", "settings", "problem"),
    [
        ({"text": "a"}, {}, "sent no answer: the reply is an object with 'text'"),
        ({"answer": 3}, {}, "answer is a number"),
        ({"answer": "a", "contexts": 3}, {}, "contexts is a number, not a list of texts"),
        (
            {"answer": "a", "contexts": ["p", {"t": 1}]},
            {},
            "contexts: item 1 is an object with 't', not a text",
        ),
    ],
)
def test_a_reply_without_what_is_wanted_says_what_is_there(document, settings, problem):
    error = failure(TargetReply.of(document), **settings)
    assert problem in str(error)
    assert "answer_field and contexts_field" in error.hint
    assert not isinstance(error, TransientError)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "sent an empty body"),
        (b"<html>\x1b[2J busy</html>", "sent invalid JSON: <html> [2J busy</html>"),
        (b'{"answer": "\xe4"}', "sent invalid JSON"),
        (b"[" * 100_000, "sent invalid JSON: [[["),
        (b"NaN", "the reply is a number"),
    ],
)
def test_what_is_no_json_is_told_by_its_first_part(body, problem):
    error = failure(TargetReply(body=body))
    assert problem in str(error)
    assert len(str(error)) < 400


@pytest.mark.parametrize("sent", [PRIVATE, f"{'x' * 30}{PRIVATE}"])
@pytest.mark.parametrize("field", ["context_ids", "context_scores"])
def test_wrong_ids_with_a_secret_are_not_quoted(sent, field):
    document = {"answer": "a", "contexts": ["p", "q"], field: [sent, sent]}
    error = failure(TargetReply.of(document), headers=HEADERS)
    is_id = field == "context_ids"
    assert ("***' occurs twice" if is_id else "wrong ids or scores of passages, which contain") in str(error)
    assert "s3c" not in str(error)
    assert error.__cause__ is None


def test_foreign_names_are_shown_clean_and_short():
    error = str(failure(TargetReply.of({"\x1b[31m\ud800" + "n" * 100_000: 1})))
    assert error.isprintable()
    assert len(error) < 400


def test_a_mark_of_byte_order_does_no_harm():
    with TargetServer([TargetReply(body=b'\xef\xbb\xbf{"answer": "a"}')]) as server:
        assert ask(server.url) == [Reply("a")]


@pytest.mark.parametrize("host", ["999.1.1.1", "[v1.x]", "127.0.0.1:1/" + "a" * 70_000])
def test_a_url_no_client_can_use_is_told_at_once(host):
    with pytest.raises(UsageError) as caught:
        ask(f"http://{host}/")
    assert len(str(caught.value)) < 400


def test_a_connection_that_breaks_off_is_transient():
    assert "closed the connection" in str(failure(TargetReply(drop=True)))
    assert isinstance(failure(TargetReply(hang_up=True)), TransientError)


def test_one_that_is_not_there_is_transient():
    with TargetServer() as server:
        url = server.url
    with pytest.raises(TransientError, match=f"^{url} cannot be reached. Check the URL"):
        ask(url)


def test_a_reply_that_is_too_long_is_refused():
    longest = b'{"answer": "' + b"a" * (MAX_REPLY - 14) + b'"}'
    with TargetServer([TargetReply(body=longest)]) as server:
        assert len(ask(server.url)[0].response) == MAX_REPLY - 14
    assert "sent more than 10,000,000 bytes" in str(failure(TargetReply(body=longest + b" ")))
    packed = gzip.compress(b" " * 200_000_000)
    assert "sent more than 10,000,000 bytes" in str(
        failure(TargetReply(200, packed, {"Content-Encoding": "gzip"}))
    )


@pytest.mark.parametrize("encoding", ["gzip, gzip", "zstd", "br"])
def test_an_encoding_that_can_grow_without_bound_is_refused(encoding):
    twice = gzip.compress(gzip.compress(b'{"answer": "a"}'))

    assert "sent a body with the encoding" in str(
        failure(TargetReply(200, twice, {"Content-Encoding": encoding}))
    )


def test_broken_compression_is_told():
    error = failure(TargetReply(200, b"no gzip", {"Content-Encoding": "gzip"}))
    assert "request failed (DecodingError)" in str(error)


def test_questions_stand_alone():
    with TargetServer([TargetReply.of({"answer": "a"}, Set_Cookie="session=1; Path=/")]) as server:
        ask(server.url, "one", "two")
    assert all("cookie" not in request.headers for request in server.requests)


@pytest.mark.parametrize("status", [200, 401, 500])
def test_secrets_that_a_service_repeats_are_not_shown(status):
    words = f"key {PRIVATE} / Bearer {PRIVATE} / s3cr3t%2Fva%20lue%2B%22x%22 / " + PRIVATE.replace('"', r"\"")
    for body in (words.encode(), words.encode() * 1000):
        error = failure(TargetReply(status, body), headers=HEADERS)
        assert "***" in str(error)
        assert "s3cr3t" not in str(error) + repr(error)
    if status == 200:
        for name in (PRIVATE, "x" * 20 + PRIVATE, "x" * 190 + PRIVATE):
            assert "s3cr3t" not in str(failure(TargetReply.of({name: 1}), headers=HEADERS))


def test_a_variable_that_is_not_set_is_named_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("RAG_TEST_KEY")
    with TargetServer() as server, pytest.raises(UsageError, match="RAG_TEST_KEY"):
        ask(server.url, headers=HEADERS)
    assert server.requests == []


@pytest.mark.parametrize("value", ["s3cr3t\nX-Other: 1", "s3cr3tä", "s3cr3t\x00".replace("\x00", "\x7f")])
def test_a_variable_that_is_no_header_is_told_without_its_value(monkeypatch, value):
    monkeypatch.setenv("RAG_TEST_KEY", value)
    with pytest.raises(UsageError) as caught:
        ask("http://127.0.0.1:1/", headers=HEADERS)
    assert "s3cr3t" not in str(caught.value)


def test_a_proxy_that_cannot_be_used_is_told(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "nonsense://s3cr3t@127.0.0.1:1")
    with pytest.raises(UsageError, match="Check HTTP_PROXY") as caught:
        ask("http://127.0.0.1:1/")
    assert "s3cr3t" not in str(caught.value)


def test_without_the_extra_the_pip_line_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx2", None)
    monkeypatch.setattr("sgi.target.http.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[http\]"):
        ask("http://127.0.0.1:1/")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_what_may_be_gone_next_time_is_transient(status):
    error = failure(TargetReply.of({"detail": "busy"}, status))
    assert isinstance(error, TransientError)
    assert error.retry_after is None
    assert f"/answer answered {status}" in str(error)
    assert '{"detail": "busy"}' in str(error)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, r"\(Bad Request\).*Check question_field"),
        (401, r"\(Unauthorized\).*Check the header with the credentials"),
        (404, r"\(Not Found\).*Check the URL"),
        (422, "Check question_field and body"),
        (499, "answered 499: "),
    ],
)
def test_other_statuses_are_final(status, words):
    error = failure(TargetReply(status, b"no\x00\n" + b"x" * 100_000))
    assert type(error) is TargetError
    assert len(str(error)) < 400
    with pytest.raises(TargetError, match=words):
        raise error


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_says_where_it_leads(status):
    with TargetServer() as other:
        error = failure(TargetReply(status, b"", {"Location": f"{other.url}?t=abc"}), headers=HEADERS)
    assert other.requests == []
    assert f"it redirects to {other.url}. Redirects are not followed" in str(error)
    assert "abc" not in str(error)


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("/other?t=abc", "redirects to http://127.0.0.1:"),
        ("http://me:s3cr3t@host/x", "redirects to http://host/x"),
        ("http://[::1", "redirects to an invalid URL"),
        ("", "redirects to http://127.0.0.1:"),
    ],
)
def test_a_redirect_may_lead_anywhere(location, words):
    assert words in str(failure(TargetReply(302, b"", {"Location": location})))


def test_a_status_of_redirects_that_leads_nowhere_is_an_error_like_others():
    assert "answered 304 (Not Modified)." in str(failure(TargetReply(304, b"")))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), ("1.5", 1.5), ("-3", 0.0), ("soon", None), ("nan", None)],
)
def test_a_target_may_ask_for_time_in_seconds(value, seconds):
    assert failure(TargetReply.of({}, 429, Retry_After=value)).retry_after == seconds


def test_a_target_may_ask_for_time_by_date():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 50 < failure(TargetReply.of({}, 503, Retry_After=later)).retry_after <= 100
    assert failure(TargetReply.of({}, 503, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT")).retry_after == 0
    assert failure(TargetReply.of({}, 503, Retry_After="Fri, 31 Dec 99999 23:59:59 GMT")).retry_after is None


def test_an_error_whose_body_breaks_off_is_told_by_its_status():
    error = failure(TargetReply(401, b"who are you? " * 9, drop=True))
    assert not isinstance(error, TransientError)
    assert "answered 401 (Unauthorized)" in str(error)


def test_an_error_with_a_long_body_is_told_by_its_status():
    error = failure(TargetReply(500, b"x" * 17_000_000))
    assert "answered 500 (Internal Server Error): xxx" in str(error)
    assert len(str(error)) < 1000
