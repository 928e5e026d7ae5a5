from __future__ import annotations

import pytest

from sgi.kernel.errors import StoreError
from sgi.store import run_history
from sgi.store.database import open_database
from sgi.store.manage_runs import delete_run
from sgi.store.run_history import earlier_looks, record_gate
from support.runs import HOSTILE, add_run

RULE = ("sgi_bounded", ">=", "sgi_bounded >= 0.5", True)


@pytest.fixture
def database(database, monkeypatch):
    moments = (f"2026-01-01T00:00:{second:02}" for second in range(60))
    monkeypatch.setattr(run_history, "now", lambda: next(moments))
    return database


def test_other_runs_over_the_same_questions_count(database):
    for run in ("r1", "r2", "r3"):
        record_gate(database, "questions", run, [RULE, ("bleu", "drop", f"{HOSTILE} <= 0.1", False)])
    record_gate(database, "others", "r4", [RULE])
    record_gate(database, "questions", "r5", [("bleu", ">=", "bleu >= 0.1", True)])
    assert earlier_looks(database, "questions", "new") == {
        ("sgi_bounded", ">="): 3,
        ("bleu", "drop"): 3,
        ("bleu", ">="): 1,
    }
    assert earlier_looks(database, "nothing", "new") == {}


def test_a_run_that_is_gated_again_is_no_new_look(database):
    for run in ("r1", "r2", "r1", "r1", "r3"):
        record_gate(database, "questions", run, [RULE])
    counts = {run: earlier_looks(database, "questions", run).get(RULE[:2], 0) for run in ("r1", "r2", "r3")}
    assert counts == {"r1": 0, "r2": 1, "r3": 2}


def test_a_run_that_was_deleted_still_counts(database):
    add_run(database, "r1")
    record_gate(database, "questions", "r1", [RULE])
    delete_run(database, "r1")
    assert earlier_looks(database, "questions", "r2") == {RULE[:2]: 1}


def test_a_server_that_may_only_be_read_counts_and_does_not_record(postgres_url):
    with open_database(postgres_url) as writable:
        record_gate(writable, "questions", "r1", [RULE])
    address = f"{postgres_url}&options=-cdefault_transaction_read_only%3Don"
    with open_database(address, create=False) as reading:
        assert earlier_looks(reading, "questions", "r2") == {RULE[:2]: 1}
        with pytest.raises(StoreError, match="read-only transaction"):
            record_gate(reading, "questions", "r2", [RULE])
