"""A cascade in a run that is kept: broken off and gone on with, and rescored."""

from __future__ import annotations

import json

import anyio
import pytest

from sgi.analysis.rescore import rescore
from sgi.engine.progress import Advanced, Began
from sgi.engine.run_options import RunOptions
from sgi.engine.runner import resume, start_run
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import RunMismatchError, UsageError
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support.cascades import row, unsupported_rows
from support.judge_server import JudgeServer, ServerReply
from support.judged_metrics import register_metrics

ROWS = 600
DOUBTFUL = 49
MARKS = json.dumps({"reasoning": "Kind.", "marks": [1.0, 0.5]})


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Three batches: every fifteenth row is in doubt, and so are nine that people found unsupported."""
    register_metrics(monkeypatch, grounding="support.cascades:MetadataScore")
    rows = [row(f"r{n}", 0.9 if n % 15 else 0.2) for n in range(ROWS - 9)] + unsupported_rows([0.5] * 9)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(sample.model_dump_json(exclude_unset=True) + "\n" for sample in rows))
    return path


@pytest.fixture
def server():
    with JudgeServer(replies=ServerReply(MARKS)) as opened:
        yield opened


def spec(data, server, **values):
    asked = {"data": data, "metrics": ("politeness", "grounding"), "judge": f"openai:m@{server.url}"}
    return RunOptions.of(asked | {"cascade": "alpha=0.1"} | values, cache=False)


def stored_at(url, asked):
    return asked.model_copy(update={"db": url})


def record_of(url):
    with open_database(url) as database:
        return find_run(database, "last")


def breaking_off():
    """A listener that breaks a run off when its first batch is scored."""
    begun = []

    def listen(event):
        if isinstance(event, Began):
            begun.append(event.run)
        elif begun and isinstance(event, Advanced):
            raise ArithmeticError

    return listen


def columns(url):
    with open_database(url) as database:
        return read_run(database, find_run(database, "last")).metrics


def test_a_run_that_was_broken_off_goes_on_with_its_threshold(data, server, tmp_path):
    asked = spec(data, server)
    whole, broken = (f"sqlite:///{tmp_path / name}.db" for name in ("whole", "broken"))
    report = anyio.run(start_run, stored_at(whole, asked))
    assert len(server.requests) == DOUBTFUL
    with pytest.raises(ArithmeticError):
        anyio.run(start_run, stored_at(broken, asked), breaking_off())
    kept = record_of(broken)
    assert (kept.scored, kept.spec["cascade"]["learnt"]["threshold"]) == (256, 0.5)
    resumed = anyio.run(resume, stored_at(broken, asked), kept)
    after, before = resumed.summary.cascade, report.summary.cascade
    assert (after.rows, after.cleared, after.threshold) == (ROWS, ROWS - DOUBTFUL, 0.5)
    assert (after.calls_saved, after.calls_per_row) == (before.calls_saved, before.calls_per_row)
    for name, column in columns(whole).items():
        assert column.values.tobytes() == columns(broken)[name].values.tobytes()
        assert column.codes.tobytes() == columns(broken)[name].codes.tobytes()


def test_another_rule_is_another_run(data, server, sqlite_url):
    anyio.run(start_run, stored_at(sqlite_url, spec(data, server)))
    for other in ("alpha=0.2", None):
        with pytest.raises(RunMismatchError, match="its settings"):
            anyio.run(resume, stored_at(sqlite_url, spec(data, server, cascade=other)), record_of(sqlite_url))


def test_rescored_numbers_are_of_the_same_rows_and_say_so(data, server, sqlite_url):
    first = anyio.run(start_run, stored_at(sqlite_url, spec(data, server))).summary
    asked = len(server.requests)
    with open_database(sqlite_url) as database:
        made = anyio.run(rescore, database, find_run(database, "last"), ["politeness(weights=[1, 0])"])
    (found,) = made.report.summary.metrics
    assert (found.ok, found.counts["undefined"]) == (DOUBTFUL, ROWS - DOUBTFUL)
    assert made.report.summary.cascade.judged == (found.metric,)
    assert made.report.summary.cascade.cleared == first.cascade.cleared
    assert len(server.requests) == asked


def test_labels_of_other_answers_than_a_targets_teach_nothing(
    data, server, sqlite_url, monkeypatch, tmp_path
):
    (tmp_path / "cascade_target.py").write_text("def answer(question):\n    return {'answer': question}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    asked = spec(data, server, target={"where": "cascade_target:answer"})
    with pytest.raises(UsageError, match=r"labelled=FILE"):
        anyio.run(start_run, stored_at(sqlite_url, asked))
