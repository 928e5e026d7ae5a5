"""``sgi study watch`` and ``sgi runs annotate`` over real databases and a real HTTP server."""

from __future__ import annotations

import json
from threading import Thread

import pytest

from sgi.store.database import open_database
from sgi.store.run_history import list_annotations
from support import command
from support.answers import rows, write_jsonl
from support.recording_server import RecordingServer
from support.run_series import add_runs

DROP = [0.80, 0.81, 0.79, 0.80, 0.74, 0.73]
WATCH = ("study", "watch", "answers.jsonl", "-m", "grounding")
SECRET = "/services/T0SECRET"


@pytest.fixture
def database(tmp_path):
    with open_database(tmp_path / "sgi.db") as opened:
        add_runs(opened, DROP[:4])
        yield opened


def test_the_first_hour_of_live_traces_is_named(sgi, database):
    refused = sgi("study", "watch", "traces", "-m", "grounding", "--once")
    assert (refused.code, "finished when the hour is over" in refused.err) == (2, True)


def test_a_run_after_a_drop_is_an_alert_that_is_sent(sgi, database):
    assert sgi(*WATCH, "--once").code == 0
    add_runs(database, DROP[4:], first=4)
    with RecordingServer((503, b""), (200, b"ok")) as server:
        result = sgi(*WATCH, "--once", "--webhook", server.url + SECRET)
    reason = "ALERT: the mean fell from 0.8000 to 0.7350 at run 4 (worse)"
    assert (result.code, result.out.count("\n")) == (4, 1)
    assert f"answers.jsonl: run 5, grounding 0.7300 [0.7100, 0.7500]: {reason}" in result.out
    assert "503" in result.err
    assert "SECRET" not in result.out + result.err
    (_, first), (_, second) = server.requests
    assert first == second
    sent = json.loads(second)
    assert sent["text"].startswith("SGI: answers.jsonl: run 5, ")
    assert sent["run"] == {"id": "r0005", "name": "run 5", "started": "2026-01-01T00:05:00"}
    assert (sent["data"], sent["metric"], sent["rules"]) == ("answers.jsonl", "grounding", [])
    assert sent["change"] == {
        "run": "r0004", "before": pytest.approx(0.8), "after": pytest.approx(0.735), "p": sent["change"]["p"],
    }  # fmt: skip
    assert sent["change"]["p"] < 0.01


def test_a_recovery_and_a_rise_are_no_alerts(sgi, database):
    add_runs(database, [0.70, 0.71, 0.82, 0.81, 0.80], first=4)
    result = sgi("study", "watch", "run 8", "-m", "grounding", "--once")
    assert (result.code, "no alert" in result.out) == (0, True)


def test_a_rule_of_a_gate_is_checked_on_the_newest_run(sgi, tmp_path):
    write_jsonl(tmp_path / "a.jsonl", rows(60, spoilt=20))
    command.sgi(tmp_path, "run", "a.jsonl", "-m", "squad_em", "-q")
    assert sgi("study", "watch", "a.jsonl", "squad_em>=0.3", "-m", "squad_em", "--once").code == 0
    result = sgi("study", "watch", "a.jsonl", "squad_em>=0.9", "-m", "squad_em", "--once")
    assert (result.code, "ALERT: squad_em >= 0.9 failed: the 95 % interval reaches" in result.out) == (
        4,
        True,
    )
    assert sgi("gate", "last", "squad_em>=0.3").err == ""  # a watch does not count as a look
    (tmp_path / "drop.toml").write_text('[[rule]]\nmetric = "squad_em"\nmax_drop = 0.1\n')
    result = sgi("study", "watch", "a.jsonl", "drop.toml", "-m", "squad_em", "--once")
    assert (result.code, "needs a baseline run" in result.err) == (2, True)


def test_the_watch_checks_each_new_run_until_an_alert(sgi, database):
    results = []
    arguments = (*WATCH, "--interval", "1s", "--exit-code")
    watching = Thread(target=lambda: results.append(command.exit_code(*arguments)), daemon=True)
    watching.start()
    watching.join(0.5)
    add_runs(database, DROP[4:], first=4)
    watching.join(30)
    assert results == [4]


def test_an_annotation_of_a_run_belongs_to_its_data(sgi, database):
    result = sgi("runs", "annotate", "run 1", " release 2.4 ", "--at", "2026-11-23T16:00+01:00", "--json")
    assert result.code == 0
    (note,) = list_annotations(database, "answers.jsonl")
    assert (note.at, note.text, note.id) == (
        "2026-11-23T15:00:00.000+00:00",
        "release 2.4",
        result.json["id"],
    )
