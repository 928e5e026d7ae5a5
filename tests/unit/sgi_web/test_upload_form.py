"""The scan of an uploaded file ends at its limit, whatever the file holds; a clock that counts is used."""

from __future__ import annotations

import json
from itertools import count

import pytest

from sgi.kernel import input_limits
from sgi_web import upload_form
from sgi_web.upload_form import MAX_SECONDS, scan_file
from support.otlp import answered_trace, json_request, nested, request

SETTINGS = {"split_contexts": None, "columns": {}, "encoding": None, "per_turn": False}
MANY = 60_000
ONE = request(answered_trace(1)).SerializeToString()
SPAN = b"\x0a\x10" + b"a" * 16 + b"\x12\x08" + b"b" * 8
TRACE = json.dumps(json_request(answered_trace(1)))
GENERATION = {"id": "o", "traceId": "t", "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z"}


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances a second each time it is read; returns how often it was read."""
    seconds = count()
    monkeypatch.setattr(input_limits, "monotonic", lambda: float(next(seconds)))
    return lambda: next(seconds)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lines.jsonl", b"\n" * MANY),
        ("lines.json", b"\n" * MANY),
        ("lines.csv", b"question,response\n" + b"\n" * MANY),
        ("rows.jsonl", b'{"response":"b"}\n' * MANY),
        ("wrong.jsonl", b"1\n" * MANY),
        ("objects.json", b"[" + b"{}," * MANY + b"{}]"),
        ("spans.pb", nested(1, nested(2, nested(2, SPAN) + b"\x12\x00" * MANY))),
        ("groups.pb", ONE + b"\x0a\x02\x12\x00" * MANY),
        ("scopes.jsonl", (TRACE + "\n").encode() + b'{"resourceSpans":[' + b"{}," * MANY + b"{}]}"),
        ("langfuse.jsonl", (json.dumps(GENERATION) + "\n").encode() * MANY),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_scan_ends_at_its_limit_while_it_reads(tmp_path, clock, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    scan = scan_file(path, name, SETTINGS)
    assert (scan.is_complete, scan.problem) == (False, "")
    assert clock() <= MAX_SECONDS + 3


def test_the_rows_before_the_limit_are_counted(tmp_path, clock):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"response":"b"}\n' * MANY)
    assert 5 < scan_file(path, "rows.jsonl", SETTINGS).rows < MAX_SECONDS
    assert clock() <= MAX_SECONDS + 3


def test_a_message_of_many_empty_spans_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

    parsed = []
    real = ResourceSpans.FromString
    monkeypatch.setattr(ResourceSpans, "FromString", lambda data: parsed.append(data) or real(data))
    path = tmp_path / "spans.pb"
    path.write_bytes(nested(1, nested(2, nested(2, SPAN) + b"\x12\x00" * 2_000_001)))
    scan = scan_file(path, "spans.pb", SETTINGS)
    assert scan.errors == [
        "spans.pb:1: message 1 has more than 2,000,000 fields. Export fewer spans in a message."
    ]
    assert not parsed


def test_a_document_of_many_empty_spans_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "spans.json"
    path.write_bytes(b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b"{}," * 1_000_001 + b"{}]}]}]}")
    assert "more than 2,000,000 values" in scan_file(path, "spans.json", SETTINGS).problem


def test_without_a_limit_all_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(upload_form, "MAX_SECONDS", 600.0)
    path = tmp_path / "rows.json"
    path.write_bytes(b"\n" * 5000 + b'[\n\n\n{"response": "a\\n\\nb"},\n\n1]\n')
    scan = scan_file(path, "rows.json", SETTINGS)
    assert (scan.rows, scan.rejected, scan.is_complete) == (1, 1, True)
    assert scan.errors[0].startswith("rows.json:5006: ")
