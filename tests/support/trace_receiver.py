"""What the receiver of traces reports over HTTP."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from sgi_traces.live.open_receiver import TraceOptions, open_receiver
from sgi_traces.live.receiver import ReceiverSettings
from sgi_web.site import Site
from support.web_server import open_site, wait_until, web_client

FAST = ReceiverSettings(quiet=0.1, oldest=60.0)


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[tuple[TestClient, Site]]:
    """A client of a site that receives traces, and the site."""
    settings = {"metrics": ["grounding"], "receiver": FAST} | options
    with (
        open_site(folder) as site,
        closing(open_receiver(site.database, TraceOptions(**settings))) as receiver,
    ):
        site.receiver = receiver
        with web_client(site) as client:
            yield client, site


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
