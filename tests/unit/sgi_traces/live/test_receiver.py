"""The receiver with a metric that needs no model."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import sgi
from sgi.kernel.errors import StoreError
from sgi.service.scorer import Scorer
from sgi.store.evaluations import read_evaluations
from sgi.store.run_queries import find_run, list_runs
from sgi_traces.live.receiver import ReceiverSettings, TraceReceiver
from sgi_traces.live.spool import SpanSpool
from sgi_traces.live.trace_batch import RowScorer
from sgi_traces.live.trace_runs import TraceRuns
from sgi_traces.span import Span
from support.kept_runs import rows, store_run
from support.web_server import wait_until

HOUR = 3600


@dataclass(frozen=True)
class Words(sgi.Metric):
    """The number of words of the response."""

    power: float = 1.0
    spec: ClassVar = sgi.types.MetricSpec(
        "words", 1, frozenset({sgi.types.Field.RESPONSE}), low=0.0, high=np.inf
    )

    def score(self, batch, features, /):
        if any("crash" in text for text in batch.response):
            raise RuntimeError("a mistake in the metric")
        return sgi.types.Scores.of(np.array([float(len(text.split())) for text in batch.response]))


@contextmanager
def receiver(database, *, metric=None, **runs):
    metric = metric or Words()
    spool = SpanSpool(None, 1_000_000)
    scorer = RowScorer(Scorer([metric]), [metric], no_texts=runs.get("no_texts", False))
    settings = ReceiverSettings(quiet=0.05, oldest=0.3)
    with closing(TraceReceiver(settings, spool, TraceRuns(database, **runs), scorer)) as opened:
        yield opened


def answer(trace, text="one two three", **fields):
    return Span(trace, "1", attributes={"input.value": "Who?", "output.value": text}, **fields)


def wait_for(opened, traces):
    wait_until(lambda: opened.counts().traces == traces)


def test_a_mistake_in_one_trace_does_not_stop_the_others(database):
    with receiver(database) as opened:
        opened.receive([answer("a"), answer("b", "crash"), answer("c", 3), answer("d")])
        wait_for(opened, 4)
        counts = opened.counts()
    assert counts.turns == counts.scored + counts.failed.total() + counts.unanswered.total()
    assert counts.scored >= 2
    (run,) = list_runs(database)
    values = {row.sample.id: row.scores["words"].value for row in read_evaluations(database, run.id)}
    assert values["a"] == values["d"] == 3.0


def test_a_database_that_cannot_be_written_delays_the_rows_and_scores_them_once(database, monkeypatch):
    scored = []
    score = Words.score

    def count(metric, batch, features, /):
        scored.extend(batch.response)
        return score(metric, batch, features)

    monkeypatch.setattr(Words, "score", count)
    monkeypatch.setattr("sgi_traces.live.receiver.RETRY_SECONDS", 0.1)
    failures = iter([StoreError("locked"), StoreError("locked")])
    save = TraceRuns.save

    def fail_twice(*arguments):
        for error in failures:
            raise error
        return save(*arguments)

    monkeypatch.setattr(TraceRuns, "save", fail_twice)
    with receiver(database) as opened:
        opened.receive([answer("a"), answer("b")])
        wait_for(opened, 2)
        assert opened.counts().scored == 2
    (run,) = list_runs(database)
    assert len(read_evaluations(database, run.id)) == 2
    assert len(scored) == 2


def test_a_row_that_cannot_be_stored_does_not_stop_the_others(database, monkeypatch):
    save = TraceRuns.save

    def fail_for_one(runs, name, row):
        if row.sample.id == "a":
            raise ValueError("a mistake in the database driver")
        return save(runs, name, row)

    monkeypatch.setattr(TraceRuns, "save", fail_for_one)
    with receiver(database) as opened:
        opened.receive([answer("a"), answer("b")])
        wait_for(opened, 2)
        assert (opened.counts().scored, opened.counts().failed) == (1, {"internal error: ValueError": 1})


def test_scores_of_another_model_or_version_go_to_another_run(database):
    with receiver(database, by="service") as opened:
        opened.receive([answer("a")])
        wait_for(opened, 1)
    newer = type(
        "Words", (Words,), {"spec": sgi.types.MetricSpec("words", 2, Words.spec.needs, low=0.0, high=np.inf)}
    )
    with receiver(database, by="service", metric=newer()) as opened:
        opened.receive([answer("b"), answer("c")])
        wait_for(opened, 2)
    assert {run.name: run.rows for run in list_runs(database)} == {"traces-unknown": 1, "traces-unknown~2": 2}


def test_a_run_with_texts_gets_no_row_without(database):
    for no_texts in (False, True, False):
        with receiver(database, by="service", no_texts=no_texts) as opened:
            opened.receive([answer(f"trace {time.monotonic_ns()}")])
            wait_for(opened, 1)
    runs = {run.name: (run.rows, run.no_texts) for run in list_runs(database)}
    assert runs == {"traces-unknown": (2, False), "traces-unknown~2": (1, True)}


def test_a_run_that_was_not_made_here_is_left_alone(database, tmp_path):
    store_run(tmp_path / "sgi.db", tmp_path, rows(3), name="traces-unknown")
    with receiver(database, by="service") as opened:
        opened.receive([answer("a")])
        wait_for(opened, 1)
        assert opened.counts().scored == 1
    assert {run.name: run.rows for run in list_runs(database)} == {"traces-unknown": 3, "traces-unknown~2": 1}


def run_of(runs, service):
    return runs.name(sgi.types.Sample(id="1", metadata={"service": service}), 0.0)


def test_the_number_of_services_is_bounded(database, caplog):
    runs = TraceRuns(database, by="service", services=frozenset({"museum"}))
    names = {run_of(runs, f"s{number}") for number in range(150)}
    assert len(names) == 101
    assert "traces-other" in names
    assert [run_of(runs, name) for name in ("s3", "museum", "other")] == [
        "traces-s3",
        "traces-museum",
        "traces-other",
    ]
    assert [record.getMessage()[:21] for record in caplog.records] == ["100 services have run"]


def test_services_of_earlier_servers_count(database):
    with receiver(database, by="service", max_services=2) as opened:
        opened.receive([answer(name, resource={"service.name": name}) for name in "abcd"])
        wait_for(opened, 4)
    names = {run.name for run in list_runs(database)}
    assert len(names) == 3
    assert "traces-other" in names
    again = TraceRuns(database, by="service", max_services=2)
    assert {run_of(again, name) for name in "abcdef"} == names
    assert {run_of(TraceRuns(database, by="service", max_services=0), name) for name in "abcdef"} == names


def test_the_run_of_an_hour_is_finished_when_the_hour_is_over(database):
    with receiver(database) as opened:
        opened.receive([answer("a")])
        wait_for(opened, 1)
    (run,) = list_runs(database)
    runs = TraceRuns(database)
    runs.finish_past_hours(time.time() - HOUR)
    assert not find_run(database, run.id).finished
    runs.finish_past_hours(time.time() + HOUR)
    finished = find_run(database, run.id)
    assert finished.finished
    assert finished.summary["metrics"][0]["mean"] == 3.0


def test_a_closed_receiver_has_scored_what_waited_in_memory(database):
    with receiver(database) as opened:
        opened.receive([answer("a", parent_id="9")])  # its root has not arrived
    assert opened.counts().scored == 1
    with pytest.raises(sgi.errors.SgiError, match="stopping"):
        opened.receive([answer("b")])
