from __future__ import annotations

import socket

import pytest
from pytest_socket import SocketConnectBlockedError


def test_the_suite_reaches_no_other_machine():
    # The guard warns before it raises, and here a warning is an error.
    blocked = (SocketConnectBlockedError, UserWarning)
    with socket.socket() as one, pytest.raises(blocked, match=r"192\.0\.2\.1"):
        one.connect(("192.0.2.1", 80))


def test_the_suite_reaches_this_machine():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as one:
        one.connect(server.getsockname())
