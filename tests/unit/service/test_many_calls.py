"""Thousands of calls leave no memory, descriptor or thread."""

import gc
import os
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import httpx2
import numpy as np
import pytest

from sgi.models.cached_embedder import CachedEmbedder
from sgi.service.scorer import Scorer
from sgi.store.cache import BoundedCache

PROCESSES = Path("/proc")
METRICS = ["grounding", "sgi"]
GROWTH = 16 << 20
"""Allowed growth in bytes after the warm-up: about 8 kB for each call; the analysis of a row takes 100 kB."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (PROCESSES / "self/fd").exists(), reason="there is no /proc here"),
]


class State(NamedTuple):
    descriptors: int
    threads: int
    memory: int


def state_of(process: int | str) -> State:
    folder = PROCESSES / str(process)
    pages = int((folder / "statm").read_text(encoding="ascii").split()[1])
    descriptors, threads = (len(list((folder / name).iterdir())) for name in ("fd", "task"))
    return State(descriptors, threads, pages * os.sysconf("SC_PAGE_SIZE"))


def require_no_growth(before: State, after: State) -> None:
    assert after[:2] == before[:2]
    assert after.memory - before.memory < GROWTH


def row(number: int) -> dict[str, object]:
    passage = "The tower was built by Gustave Eiffel from 1887 to 1889. It is 330 m tall."
    response = f"Gustave Eiffel built tower {number}. It is {number} m tall."
    return {"question": "Who built the tower?", "contexts": [passage], "response": response}


class DigestEmbedder:
    """An embedder without state: the vector of a text is its digest."""

    fingerprint = "digest@1"

    def embed(self, texts, /):
        digests = b"".join(blake2b(text.encode()).digest() for text in texts)
        vectors = np.frombuffer(digests, dtype=np.uint8).reshape(len(texts), -1) - np.float32(127.5)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_scorer_does_not_grow():
    model = CachedEmbedder(DigestEmbedder(), BoundedCache(1 << 20))
    with Scorer(METRICS, model) as scorer:

        def score(numbers):
            for number in numbers:
                scores = scorer.score(row(number))
                assert [score.status for score in scores.values()] == ["ok", "ok"]
            gc.collect()
            return state_of("self"), len(gc.get_objects())

        before, objects = score(range(1000))
        after, more_objects = score(range(1000, 3000))
    require_no_growth(before, after)
    assert more_objects - objects < 200  # a leak of one object in each call would be 2000


def test_a_server_does_not_grow(tmp_path):
    command = [sys.executable, "-m", "sgi", "serve", "--port", "0", "--db", str(tmp_path / "sgi.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            with httpx2.Client(base_url=url, timeout=60) as client:

                def post(count):
                    for number in range(count):
                        body = {"rows": [row(number % 50)], "metrics": METRICS}
                        reply = client.post("api/v1/score", json=body)
                        assert [reply.json()["scores"][0][name]["status"] for name in METRICS] == ["ok", "ok"]
                    return state_of(server.pid)

                require_no_growth(post(1000), post(2000))
        finally:
            server.terminate()
