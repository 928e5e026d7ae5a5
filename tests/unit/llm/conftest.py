import pytest

from support.judge_wire import KEY


@pytest.fixture
def no_proxies(monkeypatch):
    """Use no proxy of the environment, and a key."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
