"""--long-texts, from the command line to the stored run."""

from __future__ import annotations

import json

import pytest

LONG = "Emma is a novel. " * 200
ROW = {
    "question": "Who wrote Emma?",
    "context": LONG + "Jane Austen wrote it.",
    "response": "Jane Austen wrote it.",
}
TRUNCATE = ("--long-texts", "truncate")
RUN = ("-m", "theta_rc", "--no-cache", "--json")


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW))
    return path


def value(result):
    return result.json["metrics"][0]["mean"]


def test_the_signature_and_the_summary_of_a_run_say_how_long_texts_were_read(sgi, rows):
    whole, cut = sgi("run", rows, *RUN, "--name", "whole"), sgi("run", rows, *RUN, *TRUNCATE)
    assert ",256tok-windows," in whole.json["signature"]
    assert ",256tok," in cut.json["signature"]
    assert (whole.json["windowed"], whole.json["truncated"]) == ({"contexts": 1}, {})
    assert (cut.json["windowed"], cut.json["truncated"]) == ({}, {"contexts": 1})
    assert value(whole) < value(cut)
    shown = sgi("show", "whole")
    assert "contexts exceeds the model's input limit and was read in windows" in shown.out + shown.err


def test_a_run_resumes_with_its_way(sgi, rows):
    first = sgi("run", rows, *RUN, *TRUNCATE)
    again = sgi("run", rows, "--resume", "last", "--no-cache", "--json")
    assert (again.code, again.json["signature"]) == (0, first.json["signature"])
    other = sgi("run", rows, "--resume", "last", "--long-texts", "windows", "--no-cache")
    assert other.code == 2


def test_a_cache_does_not_mix_the_ways(sgi, rows, tmp_path):
    cached = ("-m", "theta_rc", "--json", "--cache", tmp_path / "vectors.db")
    cut, whole = sgi("run", rows, *cached, *TRUNCATE), sgi("run", rows, *cached)
    assert value(cut) == value(sgi("run", rows, *RUN, *TRUNCATE))
    assert value(whole) == value(sgi("run", rows, *RUN))
    assert value(cut) != value(whole)


def test_serve_hands_it_to_its_site(sgi, monkeypatch):
    pytest.importorskip("fastapi")
    served = []
    monkeypatch.setattr("sgi_web.cli.serve._serve", lambda site, *_, **__: served.append(site))
    assert sgi("serve", "--port", "0", *TRUNCATE).code == 0
    assert served[0].models["long_texts"] == "truncate"
