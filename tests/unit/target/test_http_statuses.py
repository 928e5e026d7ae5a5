"""Statuses of a target over HTTP: which errors pass, and where redirects lead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from sgi.kernel.errors import TargetError
from sgi.target.target_limits import TransientError
from support.target_calls import HEADERS, failure
from support.target_server import TargetReply, TargetServer

pytestmark = pytest.mark.usefixtures("secret_header")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_what_may_be_gone_next_time_is_transient(status):
    error = failure(TargetReply.of({"detail": "busy"}, status))
    assert isinstance(error, TransientError)
    assert error.retry_after is None
    assert f"/answer answered {status}" in str(error)
    assert '{"detail": "busy"}' in str(error)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, r"\(Bad Request\).*Check question_field"),
        (401, r"\(Unauthorized\).*Check the header with the credentials"),
        (404, r"\(Not Found\).*Check the URL"),
        (422, "Check question_field and body"),
        (499, "answered 499: "),
    ],
)
def test_other_statuses_are_final(status, words):
    error = failure(TargetReply(status, b"no\x00\n" + b"x" * 100_000))
    assert type(error) is TargetError
    assert len(str(error)) < 400
    with pytest.raises(TargetError, match=words):
        raise error


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_says_where_it_leads(status):
    with TargetServer() as other:
        error = failure(TargetReply(status, b"", {"Location": f"{other.url}?t=abc"}), headers=HEADERS)
    assert other.requests == []
    assert f"it redirects to {other.url}. Redirects are not followed" in str(error)
    assert "abc" not in str(error)


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("/other?t=abc", "redirects to http://127.0.0.1:"),
        ("http://me:s3cr3t@host/x", "redirects to http://host/x"),
        ("http://[::1", "redirects to an invalid URL"),
        ("", "redirects to http://127.0.0.1:"),
    ],
)
def test_a_redirect_may_lead_anywhere(location, words):
    assert words in str(failure(TargetReply(302, b"", {"Location": location})))


def test_a_status_of_redirects_that_leads_nowhere_is_an_error_like_others():
    assert "answered 304 (Not Modified)." in str(failure(TargetReply(304, b"")))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), ("1.5", 1.5), ("-3", 0.0), ("soon", None), ("nan", None)],
)
def test_a_target_may_ask_for_time_in_seconds(value, seconds):
    assert failure(TargetReply.of({}, 429, Retry_After=value)).retry_after == seconds


def test_a_target_may_ask_for_time_by_date():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 50 < failure(TargetReply.of({}, 503, Retry_After=later)).retry_after <= 100
    assert failure(TargetReply.of({}, 503, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT")).retry_after == 0
    assert failure(TargetReply.of({}, 503, Retry_After="Fri, 31 Dec 99999 23:59:59 GMT")).retry_after is None


def test_an_error_whose_body_breaks_off_is_told_by_its_status():
    error = failure(TargetReply(401, b"who are you? " * 9, drop=True))
    assert not isinstance(error, TransientError)
    assert "answered 401 (Unauthorized)" in str(error)


def test_an_error_with_a_long_body_is_told_by_its_status():
    error = failure(TargetReply(500, b"x" * 17_000_000))
    assert "answered 500 (Internal Server Error): xxx" in str(error)
    assert len(str(error)) < 1000
