from __future__ import annotations

import numpy as np
import sqlalchemy as sa

from sgi.analysis.pairing import pair_rows
from sgi.analysis.run_differences import find_differences
from sgi.engine.stored_runs import read_run
from sgi.kernel.metric import Scores
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.kernel.sample_parts import Ranking
from sgi.store import stored_batches
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.store.samples import StoredAnswer
from sgi.store.writer import Setup, create_run

HOSTILE = "a\0b\ud800 '\"; -- \ufdd0 東京"
FIELDS = ("question", "response", "reference", "contexts", "metadata")
SAMPLES = [
    Sample(id="a", question=HOSTILE, contexts=("c", HOSTILE), reference="r", metadata={HOSTILE: 2**70}),
    Sample(id="b"),
    Sample(id="c", question="", contexts=(), reference=["one", "two"]),
    Sample(id="d", question="Who?", contexts=("old",)),
    Sample(id="e", question="When?", contexts=("old",), response=HOSTILE),
]


def store(database, name, samples=SAMPLES, answers=None):
    names = (metric("rouge_l"),)
    start = Setup(name, f"{name}.jsonl", len(samples), {}, name, "", {}, names, name=name)
    writer = create_run(database, start)
    writer.put_answers(answers or {})
    scores = {"rouge_l": Scores.of(np.linspace(0, 1, len(samples)))}
    writer.put(0, samples, scores)
    return read_run(database, find_run(database, name))


def refuse(row):
    raise AssertionError(f"a sample was built from {row}")


def test_fields_are_those_of_the_samples_with_the_passages_of_the_target(database_url):
    answers = {
        3: StoredAnswer("new", ("found", HOSTILE)),
        4: StoredAnswer("new", None, ranking=Ranking(("p1",), None)),
    }
    with open_database(database_url) as database:
        run = store(database, "answered", answers=answers)
        assert run.samples[3].contexts == ("found", HOSTILE)
        expected = [tuple(getattr(sample, name) for name in FIELDS) for sample in run.samples]
        assert list(run.fields(*FIELDS)) == expected
        part = run.take(np.array([4, 0]))
        assert list(part.fields("metadata")) == [({},), ({HOSTILE: 2**70},)]


def test_runs_paired_by_id_read_only_questions_and_references(database_url, monkeypatch):
    with open_database(database_url) as database:
        one, other = store(database, "one"), store(database, "other")
        monkeypatch.setattr(stored_batches, "sample_of", refuse)
        statements = []
        listen = lambda *event: statements.append(event[2])
        sa.event.listen(database._engine, "before_cursor_execute", listen)
        pairs = pair_rows(one, other)
        assert (pairs.by, pairs.first.tolist()) == ("id", [0, 1, 2, 3, 4])
        assert find_differences(one, other, pairs) == ()
        assert pair_rows(other, one).by == "id"
    selected = [text.partition("FROM")[0] for text in statements if text.startswith("SELECT")]
    assert len(selected) == 2, "the keys of a run are read once"
    assert all("question" in columns and "reference" in columns for columns in selected)
    assert not any(name in columns for columns in selected for name in ("contexts", "response", "metadata"))
