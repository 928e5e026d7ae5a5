from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import RunMismatchError, StoreDamagedError, UnknownNameError, UsageError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.metric_column import UNOPENED, MetricProvenance, provenance_differences
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.store import schema
from sgi.store.database import open_database
from sgi.store.evaluations import MetricScore, read_evaluation, read_evaluations
from sgi.store.growing_runs import NOT_SAVED, EvaluationRow, finish_growing, save_evaluation
from sgi.store.run_queries import find_run, run_provenance
from sgi.store.samples import StoredAnswer
from sgi.store.stored_batches import stored_batches
from sgi.store.writer import Setup, create_run
from support.runs import bare_summary

BLEU = metric("bleu").spec
SGI = metric("sgi").spec
VERSIONS = {"sgi": "1"}


def row(sample_id="1", *, answer="an answer", embedders=(), **scores):
    sample = Sample(id=sample_id, question="Who?", reference="Austen")
    stored = None if answer is None else StoredAnswer(answer, seconds=0.25)
    return EvaluationRow(sample, stored, scores, embedders)


def save(database, made, run="nightly"):
    return save_evaluation(database, run, made, versions=VERSIONS)


def counts(database):
    tables = ("samples", "answers", "scores", "details", "evidence", "run_metrics", "runs", "datasets")
    with database.reading() as connection:
        counted = {name: sa.select(sa.func.count()).select_from(sa.table(name)) for name in tables}
        return {name: connection.execute(query).scalar() for name, query in counted.items()}


def test_the_first_row_makes_the_run(database):
    found = save(database, row(bleu=MetricScore(0.5, details={"n": 1}, reasoning="well", spec=BLEU)))
    record = find_run(database, "nightly")
    assert found == f"{record.id}:0"
    assert (record.rows, record.scored, record.finished_at, record.summary) == (1, 1, None, None)
    assert (record.metrics, record.versions) == (("bleu",), VERSIONS)
    assert record.spec == {"service": True}
    assert record.dataset == f"service-{record.id}"
    (read,) = read_evaluations(database, "nightly")
    assert (read.id, read.run, read.sample.response) == (found, "nightly", "an answer")
    assert read.scores == {"bleu": MetricScore(0.5, Status.OK, "", {"n": 1}, "well")}


def test_rows_grow_with_the_batches_and_every_metric_has_every_row(database):
    for n in range(260):
        save(database, row(f"q{n}", bleu=MetricScore(n / 1000, spec=BLEU)))
    assert find_run(database, "nightly").changes == 260
    save(database, row("late", sgi=MetricScore(1.5, spec=SGI), embedders=("m@1",)))
    record = find_run(database, "nightly")
    assert record.rows == record.scored == 261
    assert record.signature.startswith("sgi:1|emb:m@1|judge:-|n:261|")
    batches = list(stored_batches(database, record))
    assert [(made.start, len(made.batch)) for made in batches] == [(0, 256), (256, 5)]
    run = read_run(database, record)
    assert run.ids == (*(f"q{n}" for n in range(260)), "late")
    assert run.metrics["bleu"].values[:260].tolist() == [n / 1000 for n in range(260)]
    assert np.isnan(run.metrics["bleu"].values[260])
    assert run.metrics["sgi"].counts() == {
        Status.OK: 1,
        Status.UNDEFINED: 0,
        Status.MISSING: 260,
        Status.FAILED: 0,
    }
    assert (run.metrics["sgi"].low, run.metrics["sgi"].high) == (0.0, None)
    assert set(batches[0].scores["sgi"].reasons) == {NOT_SAVED}


def test_the_same_row_again_replaces_all_that_was_there(database):
    first = MetricScore(0.5, details={"n": 1}, reasoning="well", spec=BLEU)
    save(database, row("a", bleu=first))
    save(database, row("b", bleu=first))
    before = counts(database)
    again = save(
        database, row("a", answer=None, sgi=MetricScore(None, Status.FAILED, "no vectors", spec=SGI))
    )
    assert again.endswith(":0")
    assert find_run(database, "nightly").rows == 2
    after = counts(database)
    assert after == before | {"answers": 1, "scores": 4, "details": 1, "evidence": 1, "run_metrics": 2}
    read = read_evaluation(database, "nightly", "a")
    assert not read.sample.model_fields_set & {"response"}
    assert read.scores["bleu"] == MetricScore(None, Status.MISSING, NOT_SAVED)
    assert read.scores["sgi"] == MetricScore(None, Status.FAILED, "no vectors")
    assert read_evaluation(database, "nightly", "b").scores["bleu"].value == 0.5


def test_a_finished_run_opens_again_when_it_grows(database):
    save(database, row("a", bleu=MetricScore(0.5, spec=BLEU)))
    finish_growing(database, "nightly", bare_summary(1))
    assert find_run(database, "nightly").summary == bare_summary(1)
    save(database, row("b", bleu=MetricScore(0.7, spec=BLEU)))
    record = find_run(database, "nightly")
    assert (record.finished_at, record.summary, record.rows) == (None, None, 2)


def test_finishing_what_is_not_there_is_an_error(database):
    with pytest.raises(UnknownNameError) as caught:
        finish_growing(database, "nightly", {})
    assert (caught.value.kind, caught.value.name) == ("run", "nightly")


def test_a_run_keeps_to_its_model_and_to_its_versions(database):
    save(database, row("a", bleu=MetricScore(0.5, spec=BLEU)))
    save(database, row("b", sgi=MetricScore(1.0, spec=SGI), embedders=("small@1",)))
    before = counts(database)
    with pytest.raises(RunMismatchError, match=r"small@1.*large@1"):
        save(database, row("c", sgi=MetricScore(1.0, spec=SGI), embedders=("large@1",)))
    with pytest.raises(RunMismatchError, match=rf"bleu.*nightly.*version {BLEU.version}"):
        save(database, row("c", bleu=MetricScore(0.5)))
    assert counts(database) == before
    save(database, row("c", bleu=MetricScore(None, Status.MISSING, "none given")))
    assert find_run(database, "nightly").rows == 3


def test_a_model_that_could_not_be_opened_is_any_until_it_is_known(database):
    for n, models in enumerate((("m@1", f"n{UNOPENED}"), ("m@1", "n@2"), (f"m{UNOPENED}", f"n{UNOPENED}"))):
        save(database, row(str(n), embedders=models))
    assert find_run(database, "nightly").spec["embedders"] == ["m@1", "n@2"]
    for others in (("m@1",), ("m@2", "n@2"), (f"m{UNOPENED}", "n@3")):
        with pytest.raises(RunMismatchError, match=r"m@1 \+ n@2"):
            save(database, row("x", embedders=others))


NOTHING = MetricScore(None, Status.MISSING, "no value was given")


def facts(database, run="nightly"):
    column = read_run(database, find_run(database, run)).metrics["bleu"]
    return column.version, column.low, column.high


def test_no_value_says_nothing_of_the_version(database):
    save(database, row("a", bleu=NOTHING))
    assert facts(database) == (BLEU.version, BLEU.low, BLEU.high)
    save(database, row("b", bleu=MetricScore(0.5, spec=BLEU)))
    assert facts(database) == (BLEU.version, BLEU.low, BLEU.high)
    for run, score in (
        ("given", MetricScore(40.0)),
        ("newer", MetricScore(0.5, spec=replace(BLEU, version=9))),
    ):
        save(database, row("a", bleu=NOTHING), run=run)
        save(database, row("b", bleu=score), run=run)
        save(database, row("a", bleu=NOTHING), run=run)
    assert facts(database, "given") == (0, None, None)
    assert facts(database, "newer") == (9, BLEU.low, BLEU.high)


def test_given_and_computed_values_do_not_mix(database):
    save(database, row("a", bleu=MetricScore(0.5)))
    computed = MetricScore(0.5, spec=BLEU)
    with pytest.raises(RunMismatchError, match=rf"bleu.*nightly.*version {BLEU.version}"):
        save(database, row("b", bleu=computed))
    save(database, row("a", bleu=computed))  # the only value there was gives way
    assert facts(database) == (BLEU.version, BLEU.low, BLEU.high)


def test_a_number_of_an_unknown_metric_has_no_version_and_no_bounds(database):
    for n, score in enumerate((NOTHING, MetricScore(7.0), NOTHING)):
        save(database, row(str(n), groundedness=score))
    column = read_run(database, find_run(database, "nightly")).metrics["groundedness"]
    assert (column.version, column.low, column.high, column.higher_is_better) == (0, None, None, True)


@pytest.mark.parametrize("name", ["", "  ", "last", "last~2", "a\0b", "\ud800"])
def test_some_names_stand_for_something_else(database, name):
    with pytest.raises(UsageError):
        save(database, row(), run=name)
    assert read_evaluations(database, name) == []
    assert counts(database)["runs"] == 0


def stored_run(database, name="by-hand"):
    start = Setup("d", "d.csv", 2, {}, "", "", {}, [metric("bleu")], name=name)
    writer = create_run(database, start)
    samples = [Sample(id=str(n), question="Who?", response="r", contexts=("c",)) for n in range(2)]
    made = {"bleu": Scores.of(np.array([0.25, 0.75]))}
    writer.put(0, samples, made)
    writer.put_answers({1: StoredAnswer("told", ("p",)), 0: StoredAnswer(None, reason="down")})
    return writer.run


def test_a_run_made_otherwise_is_read_but_does_not_grow(database):
    run = stored_run(database)
    with pytest.raises(UsageError, match="by-hand"):
        save(database, row(), run="by-hand")
    with pytest.raises(UsageError, match="by-hand"):
        finish_growing(database, "by-hand", {})
    for name in ("by-hand", run):
        first, second = read_evaluations(database, name)
        assert (first.reason, second.reason, second.run) == ("down", "", "by-hand")
        assert "response" not in first.sample.model_fields_set
        assert (second.sample.response, second.sample.contexts) == ("told", ("p",))
        assert second.scores == {"bleu": MetricScore(0.75)}


def test_a_name_goes_before_an_id(database):
    run = stored_run(database)
    save(database, row("other"), run="nightly")
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE runs SET name = :run WHERE name = 'nightly'"), {"run": run})
    assert [found.sample.id for found in read_evaluations(database, run)] == ["other"]


def test_what_is_not_there_is_none(database):
    assert read_evaluations(database, "nightly") == []
    assert read_evaluation(database, "nightly", "1") is None
    save(database, row("1"))
    assert read_evaluation(database, "nightly", "2") is None
    assert read_evaluation(database, "nightly", "1").scores == {}


def test_threads_lose_no_row_and_share_no_position(database):
    def work(worker):
        for n in range(15):
            save(database, row(f"{worker}-{n}", bleu=MetricScore(0.5, spec=BLEU)))
            save(database, row("shared", bleu=MetricScore(worker / 10, spec=BLEU)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    record = find_run(database, "nightly")
    assert record.rows == record.scored == 61
    run = read_run(database, record)
    assert sorted(run.ids) == sorted(["shared", *(f"{w}-{n}" for w in range(4) for n in range(15))])
    assert run.metrics["bleu"].ok.all()


PROCESS = """
import sys
from sgi.kernel.metric import Status
from sgi.kernel.sample import Sample
from sgi.store.database import open_database
from sgi.store.growing_runs import EvaluationRow, save_evaluation
from sgi.store.evaluations import MetricScore
url, worker = sys.argv[1:]
with open_database(url) as database:
    for n in range(20):
        row = EvaluationRow(Sample(id=f"{worker}-{n}"), None, {"bleu": MetricScore(0.5)})
        save_evaluation(database, "nightly", row, versions={})
"""


@pytest.mark.slow
def test_processes_that_begin_at_once_share_one_run(database_url):
    started = [subprocess.Popen([sys.executable, "-c", PROCESS, database_url, str(n)]) for n in range(3)]
    assert [process.wait(timeout=120) for process in started] == [0, 0, 0]
    with open_database(database_url) as database:
        record = find_run(database, "nightly")
        assert record.rows == record.scored == 60
        assert len(set(read_run(database, record).ids)) == 60
        assert counts(database) | {"samples": 60} == counts(database)
        assert counts(database)["runs"] == counts(database)["datasets"] == 1


HOSTILE = st.text(st.characters(codec=None), max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.tuples(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE))
def test_any_text_comes_back_as_it_was(database, texts):
    name, question, answer, reason, said = texts
    sample = Sample(id=name, question=question, reference=answer, contexts=(said, question))
    score = MetricScore(None, Status.FAILED, reason or "-", {"said": said}, said)
    save(database, EvaluationRow(sample, StoredAnswer(answer), {"bleu": score}))
    read = read_evaluation(database, "nightly", name)
    assert read.sample == sample.with_response(answer)
    assert read.scores == {"bleu": score}


VERSION = metric("sgi").spec.version
RECORD = MetricProvenance(("hash@1",), name="sgi", parameters={"passages": "mean"}, version=VERSION)


def started(database, provenance):
    metrics = [metric(name) for name in ("sgi(passages='mean')", "rouge_l")]
    start = Setup("hash", "rows.jsonl", 1, {}, "spec", "", {"sgi": "0.1"}, metrics, provenance=provenance)
    return find_run(database, create_run(database, start).run)


def test_a_record_is_read_as_it_was_stored(database):
    name = metric("sgi(passages='mean')").canonical
    lexical = MetricProvenance(name="rouge_l", version=2)
    record = started(database, {name: RECORD, "rouge_l": lexical})
    assert run_provenance(database, record) == {name: RECORD, "rouge_l": lexical}
    assert read_run(database, record).metrics[name].provenance == RECORD
    assert read_run(database, record).metrics[name].name == "sgi"


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"models": ("hash@2",)}, "embedder of sgi: hash@1 → hash@2"),
        ({"models": ("tokens:m@1",)}, "model of sgi: hash@1 → tokens:m@1"),
        ({"version": VERSION + 1}, f"version of sgi: {VERSION} → {VERSION + 1}"),
        ({"judge": "openai:m"}, "judge of sgi: none → openai:m"),
        ({"prompts": "3f2a"}, "prompts of sgi: none → 3f2a"),
    ],
)
def test_each_field_that_differs_is_named(change, difference):
    after = MetricProvenance(**{"models": ("hash@1",), "version": VERSION} | change)
    assert list(map(str, provenance_differences({"sgi": RECORD}, {"sgi": after}))) == [difference]


def test_a_record_that_is_missing_differs():
    (difference,) = provenance_differences({"sgi": None}, {"sgi": RECORD})
    assert str(difference) == "provenance of sgi: not recorded → recorded"


@pytest.mark.parametrize("value", [{"models": "hash@1"}, {"budget": -1}, {"parameters": []}, []])
def test_a_damaged_record_is_refused(database, value):
    record = started(database, {})
    with database.writing() as connection:
        connection.execute(sa.update(schema.run_metrics).values(provenance=value))
    for read in (run_provenance, read_run):
        with pytest.raises(StoreDamagedError, match="provenance"):
            read(database, record)
