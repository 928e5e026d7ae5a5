"""A run over a real embedding server that refuses some of the texts: only their rows fail."""

from __future__ import annotations

import numpy as np
import pytest

import sgi
from sgi.engine import plan
from sgi.kernel.errors import EmbedderError
from support.embedding_server import EmbeddingServer, Fault

TOO_LONG = "a " * 8_200
pytestmark = pytest.mark.usefixtures("no_remote_settings")


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    """Batches of 32 rows, so that few rows are several batches."""
    monkeypatch.setattr(plan.batches, "__defaults__", (32,))


def rows(refused, n=40):
    return [
        {
            "question": f"question {i}?",
            "context": f"Passage {i}.",
            "response": TOO_LONG if i in refused else f"r{i}",
        }
        for i in range(n)
    ]


def evaluated(server, data, cache, **options):
    embedder = f"openai:m@{server.url}/v1"
    return sgi.evaluate(data, ["sgi"], embedder, cache=cache, **options)["sgi"]


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("refused", [{34}, {0, 39}])
def test_a_second_run_that_has_only_refused_texts_to_send_keeps_every_other_row(tmp_path, refused):
    """The second run needs a vector for the refused text alone: everything else comes from the cache."""
    with EmbeddingServer() as server:
        first = evaluated(server, rows(refused), tmp_path / "vectors.db")
        sent = len(server.requests)
        second = evaluated(server, rows(refused), tmp_path / "vectors.db")
    for made in (first, second):
        assert set(np.flatnonzero(made.status == "failed").tolist()) == refused
        assert "'a a a " in made.reasons[min(refused)]
        assert "16,400 characters" in made.reasons[min(refused)]
    assert np.array_equal(first.values, second.values, equal_nan=True)
    # Per batch of rows that holds a refused text: the text, and once in all a short text to see that the
    # service works.
    assert len(server.requests) - sent <= 1 + len(refused)


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("refused", [set(range(20)), set(range(0, 20, 2))])
def test_any_share_of_refused_texts_fails_only_their_rows(tmp_path, refused):
    """Every refused row has its own text, and none is taken for a failure of the service."""
    data = rows(set(), 20)
    for i in refused:
        data[i]["response"] = f"{i} {TOO_LONG}"
    with EmbeddingServer() as server:
        made = evaluated(server, data, tmp_path / "vectors.db", max_failures=1.0)
    assert set(np.flatnonzero(made.status == "failed").tolist()) == refused
    assert all("no usable vector for the text" in made.reasons[row] for row in refused)


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(401), "refused the key"),
        (Fault(404), "no model"),
        (Fault(400), "and it also refused the text 'text'"),
    ],
)
def test_a_service_that_refuses_everything_is_a_failure_of_the_service(tmp_path, fault, reason):
    with (
        EmbeddingServer([fault] * 50) as server,
        pytest.raises(EmbedderError, match=reason),
    ):
        evaluated(server, rows({3}), tmp_path / "vectors.db")
    assert len(server.requests) <= 8
