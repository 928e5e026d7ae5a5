"""A webhook over real HTTP: attempts, redirects, and what messages tell."""

import pytest

from sgi.kernel.errors import UsageError
from sgi.service.webhook import Webhook, WebhookError
from support.loopback import Handler, LoopbackServer
from support.recording_server import RecordingServer

SECRET = "/services/T0SECRET"


class _Redirect(Handler):
    def answer(self) -> None:
        self.read_request()
        self.send(307, b"", {"Location": self.server.owner.target})


def send(url):
    """Send an alert; return the messages and the waits."""
    messages, waits = [], []
    Webhook(url, messages.append, waits.append).send({"text": "Ä"})
    return messages, waits


def test_a_busy_service_gets_the_alert_again():
    with RecordingServer((503, b""), (429, b""), (204, b"")) as server:
        messages, waits = send(server.url + SECRET)
    assert server.requests == [(SECRET, '{"text":"Ä"}'.encode())] * 3
    assert waits == [1, 4]
    assert [("503" in first, "in 1 s" in first) for first in messages[:1]] == [(True, True)]


@pytest.mark.parametrize(("status", "requests"), [(500, 3), (404, 1)])
def test_a_refused_alert_is_an_error_without_the_address(status, requests):
    with RecordingServer((status, b"T0SECRET")) as server, pytest.raises(WebhookError) as caught:
        send(server.url + SECRET)
    assert f"replied with status {status}" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert len(server.requests) == requests


def test_a_redirect_is_not_followed():
    with RecordingServer((200, b"")) as other, LoopbackServer(_Redirect) as server:
        server.target = other.url
        with pytest.raises(WebhookError, match="redirect"):
            send(server.url)
    assert other.requests == []


def test_a_service_that_does_not_run_is_an_error():
    with RecordingServer((200, b"")) as server:
        url = server.url
    with pytest.raises(WebhookError, match="cannot be reached"):
        send(url + SECRET)


@pytest.mark.parametrize(
    "url", ["ftp://h/x", "file:///etc/passwd", "h.example/x", "http://", "http://h:x/", ""]
)
def test_addresses_that_are_not_http_are_refused(url):
    with pytest.raises(UsageError) as caught:
        send(url)
    assert "h/x" not in caught.value.message
