"""What the receiver of traces reports over HTTP."""

from typing import Any

from starlette.testclient import TestClient

from sgi_traces.live.receiver import ReceiverSettings
from support.web_server import wait_until

FAST = ReceiverSettings(quiet=0.1, oldest=60.0)


def counts(client: TestClient) -> dict[str, Any]:
    """Return the counts that the receiver reports."""
    counted: dict[str, Any] = client.get("/api/v1/otlp").json()["counts"]
    return counted


def wait_until_scored(client: TestClient, rows: int) -> None:
    """Wait until this many rows are scored."""
    wait_until(lambda: counts(client)["scored"] == rows)


def is_complete(counted: dict[str, Any]) -> bool:
    """Whether every span is counted once, and every turn."""
    received = counted["received"] + counted["restored"]
    states = ("invalid", "refused", "sampled_out", "late", "waiting", "assembled")
    turns = counted["scored"] + sum(counted["unanswered"].values()) + sum(counted["failed"].values())
    whole: bool = received == sum(counted[state] for state in states) and counted["turns"] == turns
    return whole
