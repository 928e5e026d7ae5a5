from typing import Annotated

import anyio
import pytest
from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.testclient import TestClient

from sgi.integrations.fastapi import AnswerBlockedHTTPError, GuardDependency
from sgi.integrations.guarded_answers import allowed_text, iterate_in_thread
from support.guards import fitted_guard

PASSAGES = ["The tower is 330 m tall. It stands in Paris."]
GOOD = "The tower is 330 m tall. It stands in Paris."
BAD = "The tower is 330 m tall. It was built in 1204. It stands in Paris."
FALLBACK = "\n[This answer was withdrawn.]"


@pytest.fixture
def guard():
    return GuardDependency(fitted_guard())


@pytest.fixture
def sent():
    """The pieces that the model was asked for."""
    return []


@pytest.fixture
def app(guard, sent):
    app = FastAPI()
    checked = Annotated[GuardDependency, Depends(guard)]

    @app.post("/ask")
    async def ask(answer: str, guard: checked) -> str:
        await guard.require("How tall is it?", PASSAGES, answer)
        return answer

    def tokens(answer):
        for word in answer.split(" "):
            sent.append(word)
            yield f"{word} "

    async def async_tokens(answer):
        for token in tokens(answer):
            yield token

    @app.post("/stream")
    async def stream(answer: str, guard: checked, *, wait: bool = False):
        chunks = async_tokens(answer) if wait else tokens(answer)
        return guard.streaming_response("", PASSAGES, chunks, fallback=FALLBACK)

    return app


@pytest.fixture
def client(app):
    with TestClient(app) as client:
        yield client


def ask(client, answer):
    return client.post("/ask", params={"answer": answer})


def test_an_allowed_answer_is_returned_and_a_blocked_one_is_an_error_without_its_text(client, guard):
    assert ask(client, GOOD).json() == GOOD
    response = ask(client, BAD)
    assert response.status_code == 422
    assert response.json() == {"detail": "The answer is blocked: its passages do not support it."}
    assert (guard.counts.checked, guard.counts.blocked) == (2, 1)


def test_a_handler_of_the_application_sees_the_verdict(app, guard):
    @app.exception_handler(AnswerBlockedHTTPError)
    async def explain(request: Request, error: AnswerBlockedHTTPError):
        return JSONResponse({"reason": error.verdict.reason}, error.status_code)

    guard.status_code = 502
    with TestClient(app) as client:
        response = ask(client, BAD)
    assert response.status_code == 502
    assert "1204" in response.json()["reason"]


def test_the_dependency_can_be_overridden(app, guard):
    app.dependency_overrides[guard] = lambda: GuardDependency(fitted_guard(limit=0.0))
    with TestClient(app) as client:
        assert ask(client, BAD).status_code == 200
    assert guard.counts.checked == 0


@pytest.mark.parametrize("wait", [False, True], ids=["iterable", "async iterable"])
def test_a_stream_stops_before_the_blocked_sentence(client, guard, sent, wait):
    answer = f"{BAD} {GOOD} {GOOD}"
    response = client.post("/stream", params={"answer": answer, "wait": wait})
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text == f"The tower is 330 m tall. {FALLBACK}"
    assert len(sent) < len(answer.split())
    assert (guard.counts.checked, guard.counts.blocked) == (1, 1)


def test_a_sync_source_is_closed_after_a_block_and_none_does_not_end_it(guard):
    closed = []

    def pieces(*texts):
        try:
            yield from texts
        finally:
            closed.append(texts)

    async def read(*texts):
        verdicts = guard.stream("", PASSAGES, iterate_in_thread(pieces(*texts)))
        return [text async for text in allowed_text(verdicts, FALLBACK)]

    assert anyio.run(read, BAD, GOOD)[-1] == FALLBACK
    assert "".join(anyio.run(read, f"{GOOD} ", None, GOOD)) == f"{GOOD} {GOOD}"
    assert anyio.run(read, GOOD, 3, GOOD)[-1] == FALLBACK
    assert closed == [(BAD, GOOD), (f"{GOOD} ", None, GOOD), (GOOD, 3, GOOD)]
    assert guard.counts.errors == 1


@pytest.mark.parametrize("wait", [False, True], ids=["iterable", "async iterable"])
def test_an_allowed_stream_has_the_whole_text(client, wait):
    assert client.post("/stream", params={"answer": GOOD, "wait": wait}).text == f"{GOOD} "


def test_without_passages_the_answer_is_blocked_because_it_cannot_be_checked(app, guard):
    @app.post("/bare")
    async def bare(guard: Annotated[GuardDependency, Depends(guard)]):
        await guard.require("", [], GOOD)

    with TestClient(app) as client:
        response = client.post("/bare")
    assert response.status_code == 422
    assert response.json() == {"detail": "The answer is blocked: it could not be checked."}
