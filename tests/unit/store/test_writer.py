from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgi.engine.stored_runs import grouped_run, read_run, whole_run
from sgi.kernel.errors import RunBusyError, StoreError, UnknownNameError, UsageError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.protocols import Usage
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.store.run_queries import find_run, list_runs, run_usage
from sgi.store.samples import StoredAnswer
from sgi.store.stored_batches import (
    count_judgements,
    read_answers,
    read_judgements,
    stored_batch,
    stored_batches,
)
from sgi.store.writer import Setup, create_run, open_writer
from support.runs import bare_summary, contents

METRICS = (metric("sgi"), metric("rouge_l(beta=1.2)"))
HOSTILE = "a\0b\ud800 '\"; DROP TABLE runs; -- \ufdd0 \u202e 東京"


def started(**changes):
    values = {
        "dataset": "hash",
        "dataset_name": "rows.jsonl",
        "rows": 4,
        "spec": {"data": "rows.jsonl"},
        "spec_hash": "spec",
        "signature": "sgi:1|…",
        "versions": {"sgi": "0"},
        "metrics": METRICS,
    }
    return Setup(**(values | changes))


SAMPLES = (
    Sample(
        id="a", question="Who?", contexts=("c", HOSTILE), response="", metadata={"method": "x", "n": 2**70}
    ),
    Sample(id=HOSTILE, question="Who?", reference=["r", HOSTILE], label=True),
    Sample(id="c", response=HOSTILE, label=False),
    Sample(id="d", question=""),
)
SCORES = {
    "sgi": Scores(
        np.array([1.5, np.nan, np.nan, np.nan]),
        np.array(["ok", "undefined", "missing", "failed"], dtype="<U9"),
        ("", "no value " + HOSTILE, "no field", "down"),
        ({"passages": [1.5, None], "text": HOSTILE}, {}, {}, {}),
    ),
    "rouge_l(beta=1.2)": Scores.of(np.array([0.0, 0.25, 1.0, 1e-300])),
}


def commit(writer, start=0, samples=SAMPLES, scores=SCORES, **more):
    cut, down = {"contexts": 1}, {"minilm": "down"}
    windowed = {"response": 2}
    writer.put(start, samples, scores, truncated=cut, failures=down, windowed=windowed, **more)


def test_a_committed_batch_reads_back_as_it_was(database):
    writer = create_run(database, started())
    commit(writer)
    record = find_run(database, writer.run)
    found = stored_batch(database, record, 0)
    assert found.batch.samples == SAMPLES
    assert [sample.model_fields_set for sample in found.batch.samples] == [
        sample.model_fields_set for sample in SAMPLES
    ]
    assert (found.truncated, found.failures) == ({"contexts": 1}, {"minilm": "down"})
    assert found.windowed == {"response": 2}
    for name, scores in SCORES.items():
        assert np.array_equal(found.scores[name].values, scores.values, equal_nan=True)
        assert found.scores[name].status.tolist() == scores.status.tolist()
        assert found.scores[name].reasons == scores.reasons
        assert [dict(body) for body in found.scores[name].details] == [dict(body) for body in scores.details]


def test_scores_as_columns(database):
    writer = create_run(database, started(name="nightly"))
    commit(writer)
    record = find_run(database, "nightly")
    run = read_run(database, record)
    assert (run.name, run.record.rows, run.ids) == ("nightly", 4, tuple(sample.id for sample in SAMPLES))
    assert run.clusters[0] == run.clusters[1]
    assert len(set(run.clusters.tolist())) == 3
    assert list(run.metrics) == ["sgi", "rouge_l(beta=1.2)"]
    assert run.metrics["sgi"].codes.tolist() == [0, 1, 2, 3]
    assert run.metrics["sgi"].high is None
    assert run.metric("rouge_l").is_share
    metadata = [values for (values,) in run.fields("metadata")]
    assert [values.get("method") for values in metadata] == ["x", None, None, None]
    assert [values.get("n") for values in metadata] == [2**70, None, None, None]


def test_columns_and_classes_of_one_moment(database):
    writer = create_run(database, started())
    commit(writer)
    record = find_run(database, "last")
    run, values, classes = grouped_run(database, record, "method", {"sgi": "text", "theta_rq": "text"})
    assert run.ids == tuple(sample.id for sample in SAMPLES)
    assert values == ["x", None, None, None]
    assert classes == {"sgi": [HOSTILE, None, None, None]}
    assert grouped_run(database, record, "label", {})[1] == [None, 1, 0, None]
    whole, _, _, of_whole = whole_run(database, record, {"sgi": "text"})
    assert (whole.ids, of_whole) == (run.ids, classes)
    assert whole_run(database, record, {"sgi": "grade"})[3] == {}
    with pytest.raises(UnknownNameError) as caught:
        grouped_run(database, record, "methd", {})
    assert caught.value.suggestions == ("method",)


def test_an_unfinished_run_shows_what_is_committed(database):
    writer = create_run(database, started(rows=8))
    more = tuple(Sample(id=f"m{n}", response="r") for n in range(4))
    commit(writer)
    commit(writer, 4, more)
    other = create_run(database, started(rows=8))
    commit(other, 4, more)
    record = find_run(database, other.run)
    assert (record.scored, record.rows, record.finished, record.stopped) == (4, 8, False, None)
    assert read_run(database, record).ids == ("m0", "m1", "m2", "m3")
    assert [found.start for found in stored_batches(database, record)] == [4]
    other.stop("over")
    assert open_writer(database, record).done == {4}


def test_a_batch_is_there_whole_or_not_at_all(database):
    writer = create_run(database, started())
    with pytest.raises(KeyError):
        commit(writer, scores={"sgi": SCORES["sgi"], "unknown": SCORES["sgi"]})
    record = find_run(database, writer.run)
    assert record.scored == 0
    assert read_run(database, record).ids == ()
    commit(writer)
    assert find_run(database, writer.run).scored == 4


CLAIMS = {"claims": [HOSTILE, ""], "verdicts": [{"index": 1, "verdict": 0, "n": 2**70}], HOSTILE: {"x": None}}
FIRST, SECOND = Usage(3, 1, 1, 300, 30, 0.25), Usage(2, 0, 0, 2**40, 20, None)


def said(writer, start=0):
    """What is kept of the evidence of ``sgi``."""
    record = find_run(writer.database, writer.run)
    return read_judgements(writer.database, record, range(start, start + 4), ["sgi"])["sgi"]


def test_evidence_and_usage_are_kept_with_the_batch(database):
    writer = create_run(database, started(rows=8))
    more = tuple(Sample(id=f"m{n}") for n in range(4))
    commit(writer, judgements={"sgi": [CLAIMS, None, None, {}]}, usage={"openai:x": FIRST, HOSTILE: SECOND})
    usage = {"openai:x": FIRST + FIRST}
    commit(writer, 4, more, judgements={"sgi": [None, {"n": 1}, None, None]}, usage=usage)
    assert said(writer) == (CLAIMS, None, None, {})
    assert said(writer, 4) == (None, {"n": 1}, None, None)
    assert read_judgements(database, find_run(database, "last"), range(2, 6), SCORES) == {
        "sgi": (None, {}, None, {"n": 1}),
        "rouge_l(beta=1.2)": (None,) * 4,
    }
    kept = count_judgements(database, find_run(database, "last"))
    assert kept == {"sgi": (METRICS[0].spec.version, 3), "rouge_l(beta=1.2)": (METRICS[1].spec.version, 0)}
    assert run_usage(database, writer.run) == {"openai:x": FIRST + FIRST, HOSTILE: SECOND}


def test_usage_of_attempts_adds_up_and_an_unknown_price_stays_unknown(database):
    writer, other = create_run(database, started()), create_run(database, started())
    record = find_run(database, writer.run)
    second = open_writer(database, record, take_over=True)
    third = open_writer(database, record, take_over=True)
    assert run_usage(database, writer.run) == {}
    for used in (Usage(calls=1, unanswered=2), FIRST, FIRST):
        third.put_usage({"openai:x": used})
        second.stop("it was taken over", {"openai:x": used})
        writer.stop("it was taken over", {"openai:x": used})
    third.put_usage({})
    assert find_run(database, writer.run).stopped is None
    other.put_usage({"openai:x": FIRST})
    assert run_usage(database, writer.run) == {"openai:x": FIRST + FIRST + FIRST}
    second.stop("it was taken over", {"openai:x": SECOND})
    assert run_usage(database, writer.run) == {"openai:x": FIRST + SECOND + FIRST}
    assert run_usage(database, writer.run)["openai:x"].cost is None
    assert run_usage(database, other.run) == {"openai:x": FIRST}


def test_a_batch_that_is_not_kept_leaves_no_evidence_and_no_usage(database):
    writer = create_run(database, started())
    rival = open_writer(database, find_run(database, writer.run), take_over=True)
    usage = {"openai:x": FIRST}
    for wrong in ({"unknown": [None] * 4}, {"sgi": [CLAIMS]}):
        with pytest.raises(ValueError, match=r"unknown|1 judgements"):
            commit(rival, judgements=wrong, usage=usage)
    assert (find_run(database, "last").scored, run_usage(database, writer.run)) == (0, {})
    commit(rival, judgements={"sgi": [CLAIMS, None, None, None]}, usage=usage)
    with pytest.raises(RunBusyError, match=writer.run):
        commit(writer, judgements={"sgi": [None] * 4}, usage=usage)
    assert said(writer) == (CLAIMS, None, None, None)
    assert run_usage(database, writer.run) == usage


def test_evidence_of_a_batch_done_again_replaces_the_old(database):
    writer = create_run(database, started())
    commit(writer, judgements={"sgi": [CLAIMS, CLAIMS, None, None]}, usage={"openai:x": FIRST})
    writer.reopen_failed()
    assert said(writer) == (CLAIMS, CLAIMS, None, None)
    good = {name: Scores.of(np.ones(4)) for name in SCORES}
    commit(writer, scores=good, judgements={"sgi": [None, {"n": 1}, None, None]}, usage={"openai:x": FIRST})
    assert said(writer) == (None, {"n": 1}, None, None)
    assert run_usage(database, writer.run) == {"openai:x": FIRST}


def test_the_same_batch_put_twice_changes_nothing_and_another_one_is_refused(database):
    writer = create_run(database, started())
    judgements, usage = {"sgi": [CLAIMS, None, None, None]}, {"openai:x": FIRST}
    commit(writer, judgements=judgements, usage=usage)
    writer.finish(bare_summary(4))
    before, record = contents(database), find_run(database, writer.run)
    writer = open_writer(database, record)
    writer.put(0, SAMPLES, SCORES, judgements=judgements)
    writer.stop("over")
    again = contents(database)
    assert again | {"runs": before["runs"]} == before
    assert find_run(database, writer.run).changes == record.changes
    writer = open_writer(database, record)
    others = SCORES | {"rouge_l(beta=1.2)": Scores.of(np.array([0.0, 0.25, 1.0, 2e-300]))}
    for samples, scores in ((SAMPLES, others), (SAMPLES[:2], {"sgi": Scores.of(np.ones(2))})):
        with pytest.raises(StoreError, match=writer.run):
            writer.put(0, samples, scores)
    assert contents(database)["scores"] == before["scores"]


def test_the_end_and_the_stop(database):
    writer = create_run(database, started())
    writer.stop("the disk is full \0")
    assert find_run(database, "last").stopped == "the disk is full \0"
    writer = open_writer(database, find_run(database, "last"))
    assert find_run(database, "last").stopped is None
    with pytest.raises(StoreError, match=writer.run):
        writer.finish(bare_summary(4))
    commit(writer)
    writer.finish(bare_summary(4))
    record = find_run(database, "last")
    assert (record.finished, record.stopped, record.summary) == (True, None, bare_summary(4))


def test_a_failed_batch_stays_until_its_new_scores_take_its_place(database):
    writer = create_run(database, started(rows=8))
    good = {name: Scores.of(np.ones(4)) for name in SCORES}
    more = tuple(Sample(id=f"m{n}") for n in range(4))
    commit(writer)
    commit(writer, 4, more, good)
    writer.finish(bare_summary(8))
    writer = open_writer(database, find_run(database, "last"))
    assert writer.reopen_failed() == 1
    assert writer.done == {4}
    record = find_run(database, writer.run)
    assert (record.finished, record.scored) == (True, 8)
    commit(writer, scores=good)
    record = find_run(database, writer.run)
    assert (record.finished, record.scored, record.summary) == (False, 8, None)
    assert read_run(database, record).metrics["sgi"].values.tolist() == [1.0] * 8
    assert [dict(body) for body in stored_batch(database, record, 0).scores["sgi"].details] == [{}] * 4
    writer.finish(bare_summary(8))
    assert writer.reopen_failed() == 0


def test_answers_come_back_and_failures_give_way(database):
    writer = create_run(database, started())
    hostile = StoredAnswer(HOSTILE, ("p", HOSTILE), None, 0.5)
    writer.put_answers({1: StoredAnswer(None, reason="down"), 2: hostile})
    writer.put_answers({1: StoredAnswer("", None, None, 0.1)})
    with pytest.raises(StoreError, match=writer.run):
        writer.put_answers({1: StoredAnswer("second")})
    with database.reading() as connection:
        found = read_answers(connection, writer.run, 0, 10)
    assert found == {
        1: StoredAnswer("", None, None, 0.1),
        2: StoredAnswer(HOSTILE, ("p", HOSTILE), None, 0.5),
    }


def test_a_targets_answers_are_the_responses_of_the_stored_rows(database):
    writer = create_run(database, started())
    commit(writer)
    writer.put_answers({0: StoredAnswer("new", ("found",)), 2: StoredAnswer(None, reason="down")})
    samples = stored_batch(database, find_run(database, "last"), 0).batch.samples
    assert (samples[0].response, samples[0].contexts) == ("new", ("found",))
    assert "response" not in samples[2].model_fields_set


def test_runs_are_found_by_id_name_beginning_and_place(database):
    with pytest.raises(UsageError, match="No run is stored"):
        find_run(database, "last")
    first = create_run(database, started(name="monday")).run
    second = create_run(database, started()).run
    assert [record.id for record in list_runs(database)] == [second, first]
    assert find_run(database, "last").id == find_run(database, second).id == second
    assert find_run(database, "last~1").id == find_run(database, "monday").id == first
    assert find_run(database, second[:-1]).id == second
    assert find_run(database, first).label == "monday"
    with pytest.raises(UsageError, match=f"2.*{first[:4]}"):
        find_run(database, first[:4])
    with pytest.raises(UsageError, match="2 runs"):
        find_run(database, "last~2")
    with pytest.raises(UnknownNameError) as caught:
        find_run(database, "mondai")
    assert caught.value.suggestions == ("monday",)
    for odd in ("", "%", "_", "' OR 1=1", "\0"):
        with pytest.raises(UnknownNameError):
            find_run(database, odd)


def test_a_name_belongs_to_one_run(database):
    create_run(database, started(name="x"))
    with pytest.raises(UsageError, match="'x'"):
        create_run(database, started(name="x"))
    with pytest.raises(UsageError):
        create_run(database, started(name="last"))
    assert len(list_runs(database)) == 1


def test_samples_are_stored_once_for_all_runs_over_them(database):
    for _ in range(2):
        commit(create_run(database, started()))
    with database.reading() as connection:
        (rows,) = connection.exec_driver_sql("SELECT count(*) FROM samples").one()
    assert rows == 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(list(Status)), st.floats(allow_nan=False, allow_infinity=False)), min_size=1
    )
)
def test_any_scores_read_back(database, cells):
    values = np.array([value if status == Status.OK else np.nan for status, value in cells])
    status = np.array([status.value for status, _ in cells], dtype="<U9")
    reasons = tuple("" if status == Status.OK else f"because {value}" for status, value in cells)
    made = Scores(values, status, reasons, ({},) * len(cells))
    writer = create_run(database, started(metrics=METRICS[:1], rows=len(cells), dataset=f"{len(cells)} rows"))
    samples = tuple(Sample(id=str(n)) for n in range(len(cells)))
    writer.put(0, samples, {"sgi": made})
    column = read_run(database, find_run(database, writer.run)).metrics["sgi"]
    assert np.array_equal(column.values, values, equal_nan=True)
    assert [list(Status)[code].value for code in column.codes] == status.tolist()
