"""Sends alerts to a webhook: JSON by POST to an address of the user."""

from __future__ import annotations

import time
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sgi.kernel.errors import MissingExtraError, SgiError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SECONDS = 10.0
"""Time-out of connecting, of sending, and of waiting for the reply."""
WAITS = (1.0, 4.0)
"""Seconds before the second and the third attempt."""
_TRANSIENT = {408, 425, 429}


class WebhookError(SgiError):
    """The webhook did not accept an alert."""


class Webhook:
    """A webhook.

    Its address is a secret of many services, so that messages contain only the host. It follows no redirects,
    reads no body of a reply, and sends no cookies.

    Args:
        url: an ``http`` or ``https`` address.
        report: called with a message before each further attempt.
        sleep: waits for a number of seconds.

    Raises:
        MissingExtraError: the extra ``http`` is not installed.
        UsageError: the address is not valid.
    """

    def __init__(
        self, url: str, report: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if find_spec("httpx2") is None:
            raise MissingExtraError("A webhook", "http")
        self._url, self._report, self._sleep = url, report, sleep
        self.host = _host(url)

    def send(self, payload: Mapping[str, Any]) -> None:
        """Send an alert; repeat it twice if the service cannot be reached or is busy.

        Raises:
            WebhookError: it was not accepted.
        """
        for wait in (*WAITS, None):
            problem, transient = self._attempt(payload)
            if not problem:
                return
            if wait is None or not transient:
                raise WebhookError(f"The webhook at {self.host} did not accept the alert: {problem}.")
            self._report(f"The webhook at {self.host} failed: {problem}. Next attempt in {wait:g} s.")
            self._sleep(wait)

    def _attempt(self, payload: Mapping[str, Any]) -> tuple[str, bool]:
        """Return what went wrong (empty if nothing did), and whether another attempt can help."""
        import httpx2

        # Messages do not quote the client's errors, which may contain the address.
        try:
            with (
                httpx2.Client(follow_redirects=False, timeout=SECONDS) as client,
                client.stream("POST", self._url, json=dict(payload)) as response,
            ):
                return _status_problem(response.status_code)
        except httpx2.TransportError as error:
            return f"it cannot be reached ({type(error).__name__})", True
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError) as error:
            return f"the request is not valid ({type(error).__name__})", False


def _status_problem(status: int) -> tuple[str, bool]:
    if HTTPStatus(200) <= status < HTTPStatus(300):
        return "", False
    if HTTPStatus(300) <= status < HTTPStatus(400):
        return f"it sent a redirect ({status}), which is not followed; use the final address", False
    return f"it replied with status {status}", status in _TRANSIENT or status >= HTTPStatus(500)


def _host(url: str) -> str:
    """Return the host and port of an address; raise UsageError without the address, which may be secret."""
    hint = "Write it as in https://hooks.example.org/services/ID."
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError("The address of the webhook is not valid.", hint=hint) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not url.isprintable():
        raise UsageError("The address of the webhook must begin with http:// or https://.", hint=hint)
    return parts.hostname if port is None else f"{parts.hostname}:{port}"
