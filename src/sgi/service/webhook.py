"""Sends alerts to a webhook: JSON by POST to an address of the user."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from sgi.kernel.errors import SgiError, UsageError, require_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tenacity import RetryCallState

SECONDS = 10.0
"""Time-out of connecting, of sending, and of waiting for the reply."""
_TRANSIENT = {408, 425, 429}
_SERVER_ERROR = 500


class WebhookError(SgiError):
    """The webhook did not accept an alert."""


class _TransientError(WebhookError):
    """The webhook cannot be reached or is busy."""


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
        with require_extra("A webhook", "http"):
            import httpx2
        try:
            parts = httpx2.URL(url)
        except httpx2.InvalidURL:
            parts = httpx2.URL()
        if parts.scheme not in {"http", "https"} or not parts.host:
            hint = "It must begin with http:// or https://, as in https://hooks.example.org/services/ID."
            raise UsageError("The address of the webhook is not valid.", hint=hint)
        self._url, self._report, self._sleep = url, report, sleep
        self.host = parts.netloc.decode("ascii")

    def send(self, payload: Mapping[str, Any]) -> None:
        """Send an alert; repeat it after 1 s and after 4 s if the service cannot be reached or is busy.

        Raises:
            WebhookError: it was not accepted.
        """
        Retrying(
            stop=stop_after_attempt(3),
            wait=wait_exponential(exp_base=4),
            retry=retry_if_exception_type(_TransientError),
            before_sleep=self._report_retry,
            sleep=self._sleep,
            reraise=True,
        )(self._post, payload)

    def _report_retry(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        self._report(f"{error} Next attempt in {state.upcoming_sleep:g} s.")

    def _post(self, payload: Mapping[str, Any]) -> None:
        import httpx2

        # Messages do not quote the client's errors, which may contain the address.
        try:
            with httpx2.stream("POST", self._url, json=dict(payload), timeout=SECONDS) as response:
                status = response.status_code
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError) as error:
            transient = isinstance(error, httpx2.TransportError)
            problem = f"cannot be reached ({type(error).__name__})"
        else:
            if response.is_success:
                return
            redirect = ", a redirect, which is not followed" if response.is_redirect else ""
            problem = f"replied with status {status}{redirect}"
            transient = status in _TRANSIENT or status >= _SERVER_ERROR
        kind = _TransientError if transient else WebhookError
        raise kind(f"The webhook at {self.host} did not accept the alert: it {problem}.")
