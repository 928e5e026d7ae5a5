from __future__ import annotations

import pickle
import urllib.error

import pytest

from sgi.kernel.errors import TargetError
from sgi.target.python import raised_error
from sgi.target.target_limits import TransientError


def test_what_a_function_raised_is_told_by_type_and_message():
    error = raised_error("rag:answer", ValueError("no\nindex"))
    assert type(error) is TargetError
    assert str(error) == "rag:answer raised ValueError: no index."
    assert str(raised_error("rag:answer", SystemExit())) == "rag:answer raised SystemExit."


def test_an_error_that_cannot_be_told_is_told_by_its_type():
    class Mute(Exception):  # noqa: N818 - a user's error has any name
        def __str__(self):
            raise RuntimeError("no words")

    assert str(raised_error("rag:answer", Mute())) == "rag:answer raised Mute."


def fail_with(error):
    raise error


def chained(cause, *, explicit):
    try:
        try:
            fail_with(cause)
        except Exception as error:
            if explicit:
                raise RuntimeError("no answer") from error
            raise RuntimeError("no answer")  # noqa: B904 - as client libraries do
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (ConnectionResetError("gone"), True),
        (chained(ConnectionRefusedError("no"), explicit=True), True),
        (chained(KeyError("k"), explicit=True), False),
        (FileNotFoundError("index.bin"), False),
        (urllib.error.URLError("unknown url type"), False),
        (MemoryError(), False),
    ],
)
def test_a_broken_connection_may_be_whole_next_time(error, transient):
    assert isinstance(raised_error("rag:answer", error), TransientError) is transient


def test_a_circle_of_causes_ends():
    one, other = ValueError("a"), ValueError("b")
    one.__cause__, other.__cause__ = other, one
    assert type(raised_error("rag:answer", one)) is TargetError


def test_a_transient_error_crosses_processes_with_what_it_knows():
    copy = pickle.loads(pickle.dumps(TransientError("busy", hint="Wait.", retry_after=3.0)))  # noqa: S301 - our own
    assert (copy.message, copy.hint, copy.retry_after) == ("busy", "Wait.", 3.0)
