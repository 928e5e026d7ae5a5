"""The remote embedder against a real server on the loopback, with everything that can go wrong there."""

import base64
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.kernel.errors import EmbedderError, MissingExtraError, NonFiniteVectorError
from sgi.kernel.protocols import Embedder
from sgi.models.cached_embedder import CachedEmbedder
from sgi.models.embedder.remote import RemoteEmbedder, _requests
from sgi.models.embedder.remote_service import Service
from sgi.store.cache import MemoryCache
from support.embedding_server import DIMENSION, KEY, EmbeddingServer, Fault, remote, vector
from support.slow import slow

AT_ONCE = {"retry-after-ms": "1"}
pytestmark = pytest.mark.usefixtures("no_remote_settings")


def unit(texts):
    rows = np.array([vector(text) for text in texts], dtype=np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def everything_said(error, caplog):
    """All a user, a traceback or a log could show of an error."""
    trace = "".join(traceback.format_exception(error))
    return "\n".join([str(error), repr(error), repr(vars(error)), trace, caplog.text])


# What it sends and gives back


def test_a_text_has_the_same_bits_in_any_company_and_order():
    texts = ["a", "b", "c", "a"]
    with EmbeddingServer(key=KEY) as server:
        embedder = remote(server)
        assert isinstance(embedder, Embedder)
        rows = embedder.embed(texts)
        assert np.array_equal(embedder.embed(texts[::-1]), rows[::-1])
        assert np.array_equal(embedder.embed(["c"]), rows[2:3])
        assert embedder.embed([]).shape == (0, DIMENSION)


def test_rows_are_the_services_vectors_at_unit_length():
    texts = ["first", "second", "日本語", "🦊", "مرحبا", "a\x00b\n"]
    with EmbeddingServer(key=KEY) as server:
        rows = remote(server, "some-model").embed(texts)
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body["input"] == texts
    assert request.body["model"] == "some-model"
    assert rows.dtype == np.float32
    assert np.abs(rows - unit(texts)).max() < 1e-6


def test_numbers_as_text_or_as_base64_give_the_same_rows():
    def as_floats(payload):
        for item in payload["data"]:
            item["embedding"] = np.frombuffer(base64.b64decode(item["embedding"]), "<f4").tolist()
        return payload

    with EmbeddingServer([Fault(change=as_floats)]) as server:
        plain, packed = remote(server).embed(["a", "b"]), remote(server).embed(["a", "b"])
    assert np.abs(plain - packed).max() < 1e-7


def test_order_is_that_of_the_index_not_of_arrival():
    with EmbeddingServer([Fault(change=lambda p: p | {"data": p["data"][::-1]})]) as server:
        rows = remote(server).embed(["a", "b", "c"])
    assert np.abs(rows - unit(["a", "b", "c"])).max() < 1e-6


def test_each_distinct_text_is_sent_once():
    with EmbeddingServer() as server:
        rows = remote(server).embed(["b", "a", "b", "b"])
    assert [request.body["input"] for request in server.requests] == [["b", "a"]]
    assert np.abs(rows - unit(["b", "a", "b", "b"])).max() < 1e-6


def test_many_texts_go_in_requests_the_service_takes():
    texts = [f"text {number}" for number in range(4500)]
    with EmbeddingServer() as server:
        rows = remote(server).embed(texts)
    assert [len(request.body["input"]) for request in server.requests] == [2048, 2048, 404]
    assert np.abs(rows - unit(texts)).max() < 1e-6


def test_long_texts_go_in_requests_the_service_takes():
    texts = [f"{number}" + "é" * 45_000 for number in range(7)]
    with EmbeddingServer() as server:
        rows = remote(server).embed(texts)
    assert [len(request.body["input"]) for request in server.requests] == [2, 2, 2, 1]
    assert np.abs(rows - unit(texts)).max() < 1e-6


@settings(max_examples=15)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip), min_size=1))
def test_any_text_arrives_as_it_is(texts):
    with EmbeddingServer() as server:
        rows = remote(server).embed(texts)
    assert np.abs(rows - unit(texts)).max() < 1e-6


@pytest.mark.parametrize("text", ["", " ", "\t\n\u3000"])
def test_blank_texts_are_refused_before_anything_is_sent(text):
    with EmbeddingServer() as server, pytest.raises(EmbedderError, match="blank"):
        remote(server).embed(["fine", text])
    assert server.requests == []


# What goes wrong for a while


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_passing_errors_are_tried_again(status):
    with EmbeddingServer([Fault(status=status, headers=AT_ONCE)] * 3) as server:
        rows = remote(server).embed(["a"])
    assert len(server.requests) == 4
    assert np.abs(rows - unit(["a"])).max() < 1e-6


def test_retry_after_is_waited_for():
    with EmbeddingServer([Fault(status=429, headers={"Retry-After": "1"})]) as server:
        start = time.monotonic()
        remote(server).embed(["a"])
    assert time.monotonic() - start >= 1
    assert len(server.requests) == 2


def test_a_connection_that_breaks_in_the_middle_of_the_answer_is_tried_again():
    with EmbeddingServer([Fault(drop=True)]) as server:
        rows = remote(server).embed(["a"])
    assert len(server.requests) == 2
    assert np.abs(rows - unit(["a"])).max() < 1e-6


# What goes wrong for good


def error(code):
    return json.dumps({"error": {"code": code, "message": f"sent with {KEY}"}}).encode()


@pytest.mark.parametrize(
    ("fault", "words", "requests"),
    [
        (Fault(401, body=error(KEY)), "401.*OPENAI_API_KEY", 1),
        (Fault(403, body=error(KEY)), "403.*OPENAI_API_KEY", 1),
        (Fault(404, body=error(KEY)), r"127\.0\.0\.1:\d+ .*'m'.*404", 1),
        (Fault(400, body=error(KEY)), "2 texts.*400.*'text'", 2),
        (Fault(413, body=KEY.encode()), "1,200 characters.*413", 2),
        (Fault(422, body=error(KEY)), "2 texts.*422.*'text'", 2),
        (Fault(429, AT_ONCE, body=error(KEY)), "429.* 2 retries", 3),
        (Fault(429, AT_ONCE, body=error("insufficient_quota")), "429.*quota", 3),
        (Fault(500, AT_ONCE, body=error(KEY)), "500", 3),
        (Fault(418, body=KEY.encode()), "418", 1),
        (Fault(body=KEY.encode()), "JSON", 1),
        (Fault(body=error(KEY)), "JSON", 1),
    ],
)
def test_errors_say_why_and_never_show_the_key(fault, words, requests, caplog):
    caplog.set_level(logging.DEBUG)
    with EmbeddingServer([fault] * requests) as server, pytest.raises(EmbedderError, match=words) as caught:
        remote(server, retries=2).embed(["short", "x" * 1200])
    assert len(server.requests) == requests
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in everything_said(caught.value, caplog)


TOO_LONG = "word " * 9_000


@pytest.mark.parametrize("place", range(5))
def test_one_text_that_is_too_long_costs_no_other_its_vector(place):
    texts = ["a", "b", "c", "d"]
    texts.insert(place, TOO_LONG)
    with EmbeddingServer() as server:
        embedder = remote(server)
        rows = embedder.encode(texts).rows
        with pytest.raises(NonFiniteVectorError) as caught:
            embedder.embed(texts)
    assert not rows[place].any()
    others = [row for row in range(5) if row != place]
    assert np.abs(rows[others] - unit(["a", "b", "c", "d"])).max() < 1e-6
    assert caught.value.texts == (TOO_LONG,)


def test_a_request_of_one_refused_text_is_no_failure_of_the_service():
    """Before any text was accepted: a short text shows that the service works."""
    with EmbeddingServer() as server:
        rows = remote(server).encode([TOO_LONG]).rows
    assert rows.shape == (1, DIMENSION)
    assert not rows.any()
    assert [request.body["input"] for request in server.requests] == [[TOO_LONG], ["text"]]


@pytest.mark.parametrize("refused", [{0}, *slow({0, 63}, {7, 8, 40})])
def test_refused_texts_are_found_in_a_bounded_number_of_requests(refused):
    texts = [f"{place} {TOO_LONG}" if place in refused else f"{place}" for place in range(64)]
    with EmbeddingServer() as server:
        rows = remote(server).encode(texts).rows
        count = len(server.requests)
    requests = len(list(_requests(texts)))
    assert set(np.flatnonzero(~rows.any(axis=1)).tolist()) == refused
    assert count <= requests + 2 * len(refused) * 6 + 1


def test_what_was_paid_for_is_kept_when_a_text_is_refused():
    with EmbeddingServer() as server:
        cached = CachedEmbedder(remote(server), MemoryCache())
        with pytest.raises(NonFiniteVectorError):
            cached.embed(["a", TOO_LONG, "b"])
        count = len(server.requests)
        assert cached.embed(["b", "a"]).shape == (2, DIMENSION)
        assert len(server.requests) == count


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_redirect_takes_no_text_to_another_service(status):
    with EmbeddingServer() as other:
        elsewhere = Fault(status=status, headers={"Location": f"{other.url}/v1/embeddings"})
        with (
            EmbeddingServer([elsewhere]) as server,
            pytest.raises(EmbedderError, match=str(status)),
        ):
            remote(server).embed(["a private text"])
    assert other.requests == []


def test_an_error_leads_to_no_error_of_the_client(caplog):
    with EmbeddingServer(key="another") as server, pytest.raises(EmbedderError) as caught:
        remote(server).embed(["a"])
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_nothing_listens(caplog):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        service = Service("openai", f"http://127.0.0.1:{free.getsockname()[1]}/v1", KEY, "OPENAI_API_KEY")
        with pytest.raises(EmbedderError, match=r"127\.0\.0\.1:\d+") as caught:
            RemoteEmbedder(service, "m", retries=0).embed(["a"])
    assert KEY not in everything_said(caught.value, caplog)


def test_a_silent_service():
    words = r"0\.2 s"
    with EmbeddingServer([Fault(delay=30)]) as server, pytest.raises(EmbedderError, match=words):
        remote(server, timeout=0.2, retries=0).embed(["a"])


@pytest.mark.parametrize("fault", [Fault(trickle=0.05), Fault(503, headers={"Retry-After": "100"})])
def test_the_deadline_holds_for_a_trickle_and_for_long_waits(fault):
    start = time.monotonic()
    words = r"0\.6 s"
    with EmbeddingServer([fault]) as server, pytest.raises(EmbedderError, match=words):
        remote(server, timeout=10, deadline=0.6).embed(["a"])
    assert time.monotonic() - start < 5


def test_an_interrupt_waits_for_nobody():
    with EmbeddingServer([Fault(delay=30)]) as server:

        def interrupt():
            while not server.requests:
                time.sleep(0.01)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            remote(server).embed(["a"])
    assert time.monotonic() - start < 15


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    service = Service("openai", "http://localhost:9/v1", KEY, "OPENAI_API_KEY")
    with pytest.raises(MissingExtraError, match=r"\[openai\]"):
        RemoteEmbedder(service, "m")
