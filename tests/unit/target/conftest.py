import pytest

from support.target_calls import PRIVATE


@pytest.fixture
def secret_header(monkeypatch):
    """Set the variable of the header with a secret; use no proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("RAG_TEST_KEY", PRIVATE)
