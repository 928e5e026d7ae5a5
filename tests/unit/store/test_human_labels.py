"""Labels by people, in SQLite and PostgreSQL."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.labelling import labelling
from sgi.engine.stored_runs import grouped_run
from sgi.kernel.errors import UsageError
from sgi.store.evaluations import sample_evaluation
from sgi.store.human_labels import MAX_COMMENT, default_label, run_labels, store_label
from sgi.store.label_consensus import ALL_PEOPLE, PEOPLE, HumanLabel, text_version
from sgi.store.run_queries import find_run
from support.kept_runs import store_run

NAME = "q\x00\u202e'1"
ROWS = [
    {
        "id": NAME if k == 3 else f"row-{k}",
        "question": "Who?",
        "contexts": ["Ada wrote it."],
        "response": f"Ada {k}.",
    }
    for k in range(12)
]


def _run(folder, database_url, place, rows=ROWS):
    (folder / place).mkdir()
    return store_run(database_url, folder / place, rows, metrics=("sgi",))


def _label(database, record, name, *, value, author="Ada", **more):
    version = text_version(sample_evaluation(database, record, name).sample)
    store_label(database, record.dataset_name, HumanLabel(name, version, author, value, **more))


def test_a_label_belongs_to_the_text_and_not_to_the_run(tmp_path, database_url, database):
    first = find_run(database, _run(tmp_path, database_url, "first"))
    changed = [row | {"response": "Eve."} if row["id"] == "row-1" else row for row in ROWS]
    second = find_run(database, _run(tmp_path, database_url, "second", changed))
    assert default_label(database, first) == "label"
    hostile = "'; DROP TABLE human_labels; --\x00\ud800"
    for name in (NAME, "row-1"):
        _label(database, first, name, value=True, author=hostile, comment=hostile)
        _label(database, first, name, value=False, author=hostile, comment=hostile)
    here, there = run_labels(database, first), run_labels(database, second)
    (label,) = here.current[NAME]
    assert (label.author, label.comment, label.value) == (hostile, hostile, False)
    assert set(here.current) == {NAME, "row-1"}
    assert not here.stale
    assert set(there.current) == {NAME}
    assert set(there.stale) == {"row-1"}


def test_the_column_of_people_holds_the_random_sample_only(tmp_path, database_url, database):
    record = find_run(database, _run(tmp_path, database_url, "run"))
    order = np.array([row["id"] for row in ROWS])[run_labels(database, record).rows.order].tolist()
    for name in (*order[:3], order[8]):
        _label(database, record, name, value=True)
    _label(database, record, order[3], value=None)
    known = {}
    for column in (PEOPLE, ALL_PEOPLE):
        run, values, _ = grouped_run(database, record, column, {})
        known[column] = {name for name, value in zip(run.ids, values, strict=True) if value is not None}
    assert known == {PEOPLE: {*order[:3]}, ALL_PEOPLE: {*order[:3], order[8]}}
    assert default_label(database, record) == PEOPLE
    labelled = [row | {"label": True} for row in ROWS]
    with_labels = find_run(database, _run(tmp_path, database_url, "labelled", labelled))
    _label(database, with_labels, order[0], value=False)
    assert default_label(database, with_labels) == "label"


def test_a_decision_does_not_replace_the_own_label_and_does_not_count_as_agreement(
    tmp_path, database_url, database
):
    record = find_run(database, _run(tmp_path, database_url, "run"))
    for name in ("row-1", "row-2"):
        _label(database, record, name, value=True)
        _label(database, record, name, value=name == "row-1", author="Bo")
    _label(database, record, "row-2", value=True, author="Bo", decides=True)
    state = labelling(database, record)
    assert state.labels.disputed == ()
    assert state.labelled == 2
    assert [(pair.rows, pair.equal) for pair in state.pairs] == [(2, 1)]
    assert [(author.name, author.yes, author.no) for author in state.authors] == [("Ada", 2, 0), ("Bo", 1, 1)]


def test_without_labels_the_message_says_how_to_label(tmp_path, database_url, database):
    record = find_run(database, _run(tmp_path, database_url, "run"))
    with pytest.raises(UsageError, match="label") as caught:
        grouped_run(database, record, PEOPLE, {})
    assert f"/runs/{record.id}/labels" in caught.value.hint


def test_a_label_without_author_or_with_a_long_comment_is_refused(database):
    label = HumanLabel("q", "v", "Ada", value=True)
    for bad in (replace(label, author=" "), replace(label, comment="x" * (MAX_COMMENT + 1))):
        with pytest.raises(UsageError):
            store_label(database, "data", bad)
