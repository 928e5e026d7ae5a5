"""Rows and an embedder for tests of a scorer that many callers share."""

from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sgi.testing.fakes import HashEmbedder

SECONDS = 20


class PausedEmbedder(HashEmbedder):
    """An embedder that waits until the test continues it."""

    def __init__(self) -> None:
        super().__init__(dimension=16)
        self.started, self.resume = Event(), Event()

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        self.started.set()
        assert self.resume.wait(SECONDS)
        return super().embed(texts)


def row(number: object, **fields: Any) -> dict[str, Any]:
    return {"id": str(number), "response": f"answer {number}", "reference": f"truth {number}"} | fields


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(SECONDS * 500):
        if condition():
            return
        Event().wait(0.002)
    pytest.fail("the condition did not become true")
