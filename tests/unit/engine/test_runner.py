from __future__ import annotations

import json
import signal
import sys

import anyio
import pytest

from sgi.engine import pipeline, plan
from sgi.engine.export import export
from sgi.engine.plan import plan_run
from sgi.engine.progress import Began, silent
from sgi.engine.run_options import RunOptions
from sgi.engine.runner import resume, start_run
from sgi.engine.stored_runs import read_run
from sgi.engine.summarise import column_summary
from sgi.kernel.errors import DataError, RunMismatchError, StoreError, TargetError, UsageError
from sgi.kernel.metric_column import MetricProvenance
from sgi.store.database import open_database
from sgi.store.run_queries import find_run, list_runs
from sgi.store.stored_batches import read_answers
from support.slow import slow

APP = """
calls = []
broken = set()

def answer(question):
    calls.append(question)
    if question in broken:
        raise RuntimeError("cannot " + question)
    return {"answer": "It is " + question, "contexts": ["about " + question]}
"""


ROWS = 72


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    """Batches of 32 rows, so that few rows are several batches."""
    monkeypatch.setattr(plan.batches, "__defaults__", (32,))
    monkeypatch.setattr(pipeline, "BATCH_SIZE", 32)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Three batches."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"r{n}", "question": f"q{n % 9}", "reference": f"r {n}"} for n in range(ROWS)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row | {"response": f"r {n}"}) + "\n" for n, row in enumerate(rows)))
    return path


@pytest.fixture
def app(tmp_path, monkeypatch):
    """A target in a module of the working folder."""
    (tmp_path / "rag_under_test.py").write_text(APP)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "rag_under_test", raising=False)
    import rag_under_test

    return rag_under_test


def spec(data, **values):
    return RunOptions.of({"data": data, "metrics": ("rouge_l", "squad_em")} | values)


def performed(asked, url, *, listener=silent, **call):
    return anyio.run(start_run, asked.model_copy(update={"db": url, **call}), listener)


def resumed(asked, url, wanted="last", *, listener=silent, reread=True, **call):
    with open_database(url) as database:
        record = find_run(database, wanted)
    options = asked.model_copy(update={"db": url, **call})
    return anyio.run(lambda: resume(options, record, listener, reread=reread))


def record_of(url, wanted="last"):
    with open_database(url) as database:
        return find_run(database, wanted)


class Breaking:
    """Hears of the progress, and breaks off after so many batches."""

    def __init__(self, after, error=ArithmeticError):
        self.left, self.error, self.runs = after, error, []

    def __call__(self, event):
        if isinstance(event, Began):
            self.runs.append(event.run)
        elif self.runs and type(event).__name__ == "Advanced":
            self.left -= 1
            if not self.left:
                if self.error is KeyboardInterrupt:
                    signal.raise_signal(signal.SIGINT)
                else:
                    raise self.error


def test_a_run_is_kept_with_its_spec_scores_and_headline(data, database_url):
    report = performed(spec(data, name="nightly"), database_url)
    record = record_of(database_url, "nightly")
    assert record.id == report.run
    assert (record.finished, record.scored, record.rows, record.rejected) == (True, ROWS, ROWS, 0)
    assert record.metrics == ("rouge_l", "squad_em")
    assert record.summary == json.loads(json.dumps(report.summary.to_dict()))
    assert type(report.summary).from_dict(record.summary) == report.summary
    assert record.spec["data"] == str(data.resolve())
    assert record.versions.keys() >= {"sgi", "python", "numpy"}
    with open_database(database_url) as database:
        assert read_run(database, record).ids == tuple(f"r{n}" for n in range(ROWS))


def test_a_second_run_over_the_same_data_writes_no_samples(data, sqlite_url, monkeypatch):
    performed(spec(data), sqlite_url)
    monkeypatch.delattr("sgi.store.writer.sample_row")
    performed(spec(data), sqlite_url)
    with pytest.raises(ArithmeticError):
        performed(spec(data), sqlite_url, listener=Breaking(1))
    assert resumed(spec(data), sqlite_url).summary.rows == ROWS


def test_nothing_is_kept_unless_wanted(data, tmp_path):
    assert performed(spec(data), None, store=False).run is None
    assert not (tmp_path / "sgi.db").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoreError("the disk is full"), ZeroDivisionError])
def test_a_run_that_breaks_off_says_why_and_goes_on(data, sqlite_url, error):
    breaking = Breaking(2, error)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whichever it is
        performed(spec(data), sqlite_url, listener=breaking)
    assert caught.type is (error if isinstance(error, type) else type(error))
    record = record_of(sqlite_url)
    assert record.id == breaking.runs[0]
    assert record.scored >= 64
    assert not record.finished
    assert record.stopped in {"interrupted", "the disk is full", "ZeroDivisionError: "}
    whole = performed(spec(data), None, store=False)
    report = resumed(spec(data), sqlite_url)
    assert report.summary == whole.summary
    assert record_of(sqlite_url).finished


def test_committed_batches_are_not_scored_again(data, sqlite_url, monkeypatch):
    with pytest.raises(ArithmeticError):
        performed(spec(data), sqlite_url, listener=Breaking(2))
    scored = []
    evaluate = pipeline.evaluate_batch

    async def counting(batch, *others):
        scored.append(len(batch))
        return await evaluate(batch, *others)

    monkeypatch.setattr(pipeline, "evaluate_batch", counting)
    resumed(spec(data), sqlite_url)
    assert scored == [8]


def test_a_finished_run_is_told_without_reading_its_data_if_nobody_names_it(data, sqlite_url, tmp_path):
    first = performed(spec(data, out=tmp_path / "a.jsonl"), sqlite_url)
    again = resumed(spec(data, out=tmp_path / "b.jsonl"), sqlite_url)
    data.unlink()
    assert again == resumed(spec(data), sqlite_url, reread=False) == first
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_file_that_changes_while_it_is_scored_is_noticed_before_it_is_kept(data, sqlite_url):
    class Changing(Breaking):
        def __call__(self, event):
            if isinstance(event, Began):
                data.write_text(data.read_text().replace("r 71", "another"))

    with pytest.raises(DataError):
        performed(spec(data), sqlite_url, listener=Changing(1))
    assert record_of(sqlite_url).scored < ROWS
    with open_database(sqlite_url) as database:
        assert len(read_run(database, record_of(sqlite_url)).ids) < ROWS


def test_a_database_that_is_removed_meanwhile_is_one_clear_error(data, tmp_path):
    path = tmp_path / "kept.db"

    class Removing(Breaking):
        def __call__(self, event):
            if type(event).__name__ == "Advanced" and path.exists() and self.runs:
                path.unlink()
            elif isinstance(event, Began):
                self.runs.append(event.run)

    with pytest.raises(StoreError, match="removed or replaced"):
        performed(spec(data), str(path), listener=Removing(0))


def test_naming_the_default_model_is_the_same_run(data, sqlite_url):
    with pytest.raises(ArithmeticError):
        performed(spec(data), sqlite_url, listener=Breaking(1))
    assert resumed(spec(data, embedders="minilm"), sqlite_url).summary.rows == ROWS


def test_a_retry_that_fails_again_loses_nothing(data, sqlite_url, app):
    app.broken.add("q3")
    asked = spec(data, target={"where": "rag_under_test:answer", "retries": 0}, max_failures=0.5)
    performed(asked, sqlite_url)
    app.broken.update(f"q{n}" for n in range(9))
    before = record_of(sqlite_url)
    with pytest.raises(TargetError):
        resumed(asked.model_copy(update={"max_failures": 0.01}), sqlite_url, retry_failed=True)
    after = record_of(sqlite_url)
    assert (after.scored, after.finished, after.summary) == (ROWS, True, before.summary)


def test_a_run_does_not_go_on_with_other_data_metrics_or_models(data, sqlite_url):
    with pytest.raises(ArithmeticError):
        performed(spec(data), sqlite_url, listener=Breaking(1))
    with pytest.raises(RunMismatchError, match="its settings changed"):
        resumed(spec(data, metrics="rouge_l"), sqlite_url)
    with data.open("a") as file:
        file.write('{"response": "x", "reference": "y"}\n')
    with pytest.raises(RunMismatchError, match="its data changed"):
        resumed(spec(data), sqlite_url)


def test_a_finished_run_is_not_told_for_another_one(data, sqlite_url, tmp_path):
    performed(spec(data), sqlite_url)
    with pytest.raises(RunMismatchError):
        resumed(spec(data, metrics="bleu"), sqlite_url)
    other = tmp_path / "other.jsonl"
    other.write_text('{"response": "x", "reference": "y"}\n')
    with pytest.raises(RunMismatchError, match="its data"):
        resumed(spec(other), sqlite_url)
    moved = data.rename(tmp_path / "moved.jsonl")
    assert resumed(spec(moved), sqlite_url).run == record_of(sqlite_url).id


def test_another_model_under_the_same_name_is_noticed(data, sqlite_url, monkeypatch):
    with pytest.raises(ArithmeticError):
        performed(spec(data), sqlite_url, listener=Breaking(1))
    monkeypatch.setattr(
        "sgi.engine.resources.Resources.provenance", lambda *_: MetricProvenance(("minilm@other",))
    )
    with pytest.raises(RunMismatchError, match="rouge_l"):
        resumed(spec(data), sqlite_url)


def test_the_target_answers_and_a_finished_call_is_never_repeated(data, database_url, app):
    asked = spec(data, target={"where": "rag_under_test:answer", "concurrency": 3, "retries": 0})
    with pytest.raises(ArithmeticError):
        performed(asked, database_url, listener=Breaking(1))
    record = record_of(database_url)
    with open_database(database_url) as database, database.reading() as connection:
        kept = len(read_answers(connection, record.id, 0, ROWS))
    asked_before = len(app.calls)
    assert 32 <= kept <= asked_before <= kept + 3  # what was under way was not finished
    report = resumed(asked, database_url)
    assert len(app.calls) == asked_before + ROWS - kept
    assert report.summary.rows == ROWS
    with open_database(database_url) as database:
        assert read_run(database, record_of(database_url)).metrics["rouge_l"].ok.all()


def test_failed_calls_are_failed_rows_and_can_be_tried_again(data, sqlite_url, app, tmp_path):
    app.broken.update({"q3"})
    asked = spec(data, target={"where": "rag_under_test:answer", "retries": 0}, max_failures=0.5)
    report = performed(asked, sqlite_url)
    assert report.failures == pytest.approx(8 / ROWS)
    with open_database(sqlite_url) as database:
        export(database, record_of(sqlite_url), tmp_path / "scores.jsonl", inputs=True)
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert "cannot q3" in rows[3]["scores"]["rouge_l"]["reason"]
    assert "response" not in rows[3]
    assert rows[4]["response"] == "It is q4"
    assert rows[4]["contexts"] == ["about q4"]
    app.broken.clear()
    app.calls.clear()
    assert resumed(asked, sqlite_url).failures == report.failures
    assert app.calls == []
    assert resumed(asked, sqlite_url, retry_failed=True).failures == 0
    assert app.calls == ["q3"] * 8


@pytest.mark.slow
def test_a_target_that_always_fails_stops_the_run_and_loses_nothing(data, sqlite_url, app):
    app.broken.update({f"q{n}" for n in range(9)})
    asked = spec(data, target={"where": "rag_under_test:answer", "retries": 0})
    with pytest.raises(TargetError, match="100"):
        performed(asked, sqlite_url)
    record = record_of(sqlite_url)
    assert record.scored == 0
    assert "cannot q" in record.stopped
    app.broken.clear()
    assert resumed(asked, sqlite_url).failures == 0


def test_a_target_needs_questions(tmp_path, app):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"reference": "a"}\n')
    with pytest.raises(UsageError, match="question"):
        plan_run(spec(path, target={"where": "rag_under_test:answer"}))


def test_rows_that_cannot_be_read_are_counted_in_the_store(data, sqlite_url, tmp_path):
    with data.open("a") as file:
        file.write("{broken\n")
    with pytest.raises(DataError):
        performed(spec(data), sqlite_url)
    asked = spec(data, on_error="skip", rejects=tmp_path / "rejected.jsonl")
    assert performed(asked, sqlite_url).rejected == 1
    assert record_of(sqlite_url).rejected == 1
    with open_database(sqlite_url) as database:
        assert len(list_runs(database)) == 1


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_what_is_exported_is_what_the_run_wrote(data, database_url, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    performed(spec(data, out=out, inputs=True), database_url)
    with open_database(database_url) as database:
        again = tmp_path / f"again.{suffix}"
        assert export(database, record_of(database_url), again, inputs=True) == ROWS
    assert out.read_bytes() == again.read_bytes()


def test_no_formula_reaches_a_spreadsheet(sqlite_url, tmp_path):
    path = tmp_path / "rows.jsonl"
    formula = '=HYPERLINK("http://x")'
    path.write_text(
        json.dumps({"id": "=1+1", "response": formula, "reference": "+1", "question": "@q"}) + "\n"
    )
    performed(spec(path), sqlite_url)
    with open_database(sqlite_url) as database:
        export(database, record_of(sqlite_url), tmp_path / "rows.csv", inputs=True)
    text = (tmp_path / "rows.csv").read_text()
    assert "'=1+1" in text
    assert "'=HYPERLINK" in text
    assert "'+1" in text


# The target returns one passage for each of nine questions; the data has three.
@pytest.mark.parametrize(
    ("cluster", "clusters"), [("question", 9), *slow(("contexts", 9), ("row", 50)), ("kind", 4 + 10)]
)
def test_stored_rows_form_the_clusters_of_the_run(tmp_path, database_url, app, cluster, clusters):
    rows = [
        {"id": f"r{n}", "question": f"q{n % 9}", "contexts": [f"c{n % 3}"], "reference": "r"}
        | ({"kind": n % 5} if n % 5 else {"other": n})
        for n in range(50)
    ]
    data = tmp_path / "kinds.jsonl"
    data.write_text("".join(json.dumps(row | {"id": f"k{n}"}) + "\n" for n, row in enumerate(rows)))
    asked = spec(
        data, cluster=cluster, metrics=("rouge_l",), target={"where": "rag_under_test:answer", "retries": 0}
    )
    with pytest.raises(ArithmeticError):
        performed(asked, database_url, listener=Breaking(1))
    report = resumed(asked, database_url)
    assert report.summary.questions == clusters
    record = record_of(database_url)
    assert record.cluster == cluster
    with open_database(database_url) as database:
        stored = read_run(database, record)
        assert stored.clustering == report.summary.clustering
        assert stored.clusters.tolist()[:4] == ([0, 1, 2, 3])
        assert len(set(stored.clusters.tolist())) == clusters
        made = column_summary(stored.metrics["rouge_l"], stored.clusters)
        assert made.interval == report.summary.metrics[0].interval
        other = read_run(database, record.with_clusters("row"))
        assert len(set(other.clusters.tolist())) == 50


def test_a_run_does_not_go_on_with_another_cluster_rule(data, sqlite_url):
    performed(spec(data), sqlite_url)
    with pytest.raises(RunMismatchError, match="question"):
        resumed(spec(data, cluster="row"), sqlite_url)
