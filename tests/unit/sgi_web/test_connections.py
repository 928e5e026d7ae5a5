from __future__ import annotations

import resource
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest

from sgi_web.connections import ConnectionLimits
from sgi_web.site import FREE_TRIES
from support.web_server import serve_site, wait_until

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Wait: "


@pytest.fixture
def many_files():
    """Descriptors for both ends of 1,100 connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def opened(address, count, first=HALF):
    """Connections that have sent a part of a request."""
    parts = urlsplit(address)
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            wire = socket.create_connection((parts.hostname, parts.port), timeout=10)
            stack.callback(wire.close)
            wire.sendall(first)
            made.append(wire)
        yield made


def is_healthy(address):
    with urllib.request.urlopen(f"{address}/healthz", timeout=10) as answer:
        return answer.status == 200


def received(wire):
    """What comes until the other end closes."""
    wire.settimeout(10)
    parts = []
    try:
        while part := wire.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def is_open(wire):
    wire.settimeout(0.2)
    try:
        return wire.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionResetError:
        return False


@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize(
    ("count", "first", "limits"),
    [(1100, HALF, ConnectionLimits()), (100, b"", ConnectionLimits(total=64, per_address=16))],
)
def test_half_open_connections_of_one_address_keep_nobody_out(site, count, first, limits):
    with serve_site(site, limits) as address, opened(address, count, first) as wires:
        assert is_healthy(address)
        assert sum(map(is_open, wires[-8:])) == 8, "those that waited longest made room"
        assert not is_open(wires[0])


@pytest.mark.usefixtures("many_files")
def test_the_total_holds_for_trusted_proxies_too(site):
    limits = ConnectionLimits(total=32, per_address=4, proxies=frozenset({"127.0.0.1"}))
    with serve_site(site, limits) as address, opened(address, 200) as wires:
        assert is_healthy(address)
        wait_until(lambda: not is_open(wires[150]))
        assert is_open(wires[-1])


def test_headers_must_be_complete_in_time_however_they_trickle(site):
    with serve_site(site, ConnectionLimits(header_seconds=1.0)) as address, opened(address, 1) as (wire,):
        done = threading.Event()

        def trickle():
            while not done.wait(0.1):
                try:
                    wire.sendall(b"x")
                except OSError:
                    return

        thread = threading.Thread(target=trickle)
        thread.start()
        answer = received(wire)
        done.set()
        thread.join()
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_the_next_request_of_a_connection_must_come_in_time_too(site):
    whole = b"GET /healthz HTTP/1.1\r\nHost: %b\r\n\r\n"
    with serve_site(site, ConnectionLimits(header_seconds=1.0)) as address:
        asked = whole % urlsplit(address).netloc.encode()
        with opened(address, 1, asked + HALF) as (wire,):
            answer = received(wire)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in answer


def post(address, length):
    head = f"POST /login HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nContent-Length: {length}\r\n"
    return head.encode() + b"Content-Type: application/x-www-form-urlencoded\r\n\r\n"


def test_a_slow_body_is_cut_off_and_a_steady_one_is_not(site):
    limits = ConnectionLimits(body_rate=100, body_seconds=1.0)
    with serve_site(site, limits) as address, opened(address, 2, post(address, 1500)) as (slow, steady):
        for _ in range(15):
            steady.sendall(b"a" * 100)
            if is_open(slow):
                slow.sendall(b"a")
            time.sleep(0.15)
        assert not is_open(slow)
        assert received_until(steady, b"HTTP/1.1 403 ")
        assert is_healthy(address)


def received_until(wire, beginning):
    wire.settimeout(10)
    return wire.recv(65536).startswith(beginning)


def test_where_all_connections_are_at_work_a_new_one_is_refused(site):
    limits = ConnectionLimits(per_address=3)
    with serve_site(site, limits) as address, opened(address, 3, post(address, 1500)) as wires:
        time.sleep(0.3)  # their requests have begun
        with opened(address, 1, b"GET / HTTP/1.1\r\n") as (late,):
            assert received(late).startswith(b"HTTP/1.1 503 ")
        wires[0].close()
        wait_until(lambda: is_answered(address))


def is_answered(address):
    try:
        return is_healthy(address)
    except OSError:
        return False


def test_the_total_fits_the_descriptors_of_the_process(monkeypatch):
    for files, total in ((1024, 512), (600, 216), (100, 16), (resource.RLIM_INFINITY, 512)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert ConnectionLimits().possible_total == total


@pytest.mark.parametrize(
    ("proxies", "waits"), [(frozenset(), "127.0.0.1"), (frozenset({"127.0.0.1"}), "203.0.113.9")]
)
def test_forwarded_addresses_are_believed_of_trusted_proxies_alone(site, proxies, waits):
    site.token = "the very secret token"
    headers = {"Authorization": "Bearer a guess", "X-Forwarded-For": "203.0.113.9"}
    with serve_site(site, ConnectionLimits(proxies=proxies)) as address:
        for _ in range(FREE_TRIES + 1):
            asked = urllib.request.Request(f"{address}/api/v1/runs", headers=headers)
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(asked, timeout=10)
    delays = {name: site.throttle.seconds_left(name) > 0 for name in ("127.0.0.1", "203.0.113.9")}
    assert delays == {name: name == waits for name in delays}
