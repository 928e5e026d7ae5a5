from __future__ import annotations

import json
import shlex

import pytest
from typer.testing import CliRunner

import sgi
from sgi.cli.main import app
from sgi.store.database import open_database
from sgi.store.manage_runs import delete_run
from sgi.testing import ScriptedJudge
from support.calibrations import labelled_run
from support.judged_metrics import judged_run, register_metrics
from support.kept_runs import rows, store_run

METRICS = ("grounding", "content_f1")


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    path = folder / "sgi.db"
    store_run(path, folder, rows(24), name="monday", metrics=METRICS)
    worse = rows(24, answer="The {topic} may be old.")
    store_run(path, folder, worse, name="friday", metrics=METRICS)
    return path


def test_every_metric_class_is_in_sgi_metrics_and_every_name_gives_one():
    from support.example_metrics import example_metrics

    classes = {getattr(sgi.metrics, name) for name in sgi.metrics.__all__}
    assert classes == {type(sgi.metric(text)) for text in example_metrics().values()}
    assert sgi.metrics.RougeL(beta=1.2) == sgi.metric("rouge_l(beta=1.2)")
    with pytest.raises(AttributeError, match="no attribute 'RougeZ'"):
        sgi.metrics.RougeZ  # noqa: B018 - the access is the test


def test_runs_lists_the_newest_first_and_filters(db):
    assert [run.name for run in sgi.runs(db=db)] == ["friday", "monday"]
    assert [run.name for run in sgi.runs(search="mon", db=db)] == ["monday"]


def test_a_stored_run_has_the_scores_and_texts_of_the_evaluation(db):
    stored = sgi.open_run("monday", db=db)
    result = sgi.evaluate(rows(24), METRICS)
    assert [*stored] == [*result]
    for name in METRICS:
        assert stored[name].values.tolist() == result[name].values.tolist()
        assert stored[name].details == result[name].details
    assert stored.summary().to_dict()["metrics"] == result.summary().to_dict()["metrics"]
    assert stored.to_dicts() == result.to_dicts()
    assert stored.evidence_map("item-1").value == stored["grounding"].values[1]
    assert (stored.name, str(stored)) == ("monday", str(stored.summary()))


def test_another_cluster_rule_changes_the_summary(db):
    own, by_topic = (sgi.open_run("monday", db=db, cluster=rule).summary() for rule in (None, "topic"))
    assert (own.questions, by_topic.questions) == (24, 3)
    assert own.metrics[1].mean == by_topic.metrics[1].mean


def test_an_open_run_keeps_its_cluster_rule(db):
    by_topic = sgi.open_run("monday", db=db, cluster="topic")
    rules = ["content_f1>=0.1"]
    assert sgi.gate(by_topic, rules) == sgi.gate("monday", rules, cluster="topic", db=db)
    assert sgi.gate(by_topic, rules, cluster="question") == sgi.gate("monday", rules, db=db)
    assert sgi.gate(by_topic, rules) != sgi.gate("monday", rules, db=db)


def test_compare_takes_names_stored_runs_and_results(db):
    by_name = sgi.compare("monday", "friday", db=db)
    stored = [sgi.open_run(name, db=db) for name in ("monday", "friday")]
    assert sgi.compare(*stored) == by_name
    answers = rows(24), rows(24, answer="The {topic} may be old.")
    in_memory = sgi.compare(*(sgi.evaluate(entry, METRICS) for entry in answers))
    assert [item.difference for item in in_memory.metrics] == [item.difference for item in by_name.metrics]
    verdicts = {item.metric: item.verdict for item in by_name.metrics}
    assert verdicts == {"grounding": "better", "content_f1": "no difference found"}


def test_leaderboard_takes_names_and_results(db):
    by_name = sgi.api.leaderboard("monday", "friday", db=db)
    assert by_name.systems == ("monday", "friday")
    answers = [*rows(24), *rows(24, answer="The {topic} may be old.")]
    named = [{**row, "system": "ab"[place // 24], "id": str(place)} for place, row in enumerate(answers)]
    in_memory = sgi.api.leaderboard(sgi.evaluate(named, METRICS), by="system")
    assert {one.system for one in sgi.api.pareto(in_memory, *METRICS).systems} == {"a", "b"}
    means = [[score.mean for score in metric.systems] for metric in in_memory.metrics]
    assert means == [[score.mean for score in metric.systems] for metric in by_name.metrics]


def test_gate_counts_gates_on_stored_runs_and_decides_on_results_too(db):
    rule = "content_f1>=0.01"
    assert sgi.gate("monday", rule, db=db).checks[0].look == 1
    second = sgi.gate(sgi.open_run("friday", db=db), rule)
    assert (second.checks[0].look, "This is gate 2" in second.notes[-1]) == (2, True)
    result = sgi.evaluate(rows(24), METRICS)
    assert sgi.gate(result, rule).passed
    drop = sgi.gate("friday", against="monday", max_drop=0.01, db=db)
    assert {check.metric: check.passed for check in drop.checks}["content_f1"] is False


def test_runs_of_two_databases_are_refused_by_name(db, tmp_path):
    store_run(tmp_path / "other.db", tmp_path, rows(12), name="tuesday", metrics=METRICS)
    other = sgi.open_run("tuesday", db=tmp_path / "other.db")
    with pytest.raises(sgi.errors.UsageError, match="different databases"):
        sgi.gate(other, against=sgi.open_run("monday", db=db), max_drop=0.1)


def test_an_open_run_is_read_from_another_folder_too(db, tmp_path, monkeypatch):
    monkeypatch.chdir(db.parent)
    run = sgi.open_run("monday", db="sgi.db")
    monkeypatch.chdir(tmp_path)
    assert len(run.to_dicts()) == 24


def test_a_run_in_memory_is_refused_where_a_stored_one_is_needed(db, tmp_path):
    with pytest.raises(sgi.errors.UsageError, match="not stored"):
        sgi.api.export(sgi.evaluate(rows(12), METRICS), tmp_path / "rows.jsonl", db=db)


def test_what_is_not_read_before_a_run_is_deleted_is_an_error(tmp_path):
    store_run(tmp_path / "sgi.db", tmp_path, rows(12), name="monday", metrics=METRICS)
    run = sgi.open_run("monday", db=tmp_path / "sgi.db")
    samples = run.samples
    with open_database(tmp_path / "sgi.db") as database:
        delete_run(database, run.record.id)
    assert (len(run.metrics["grounding"].values), run.samples) == (12, samples)
    with pytest.raises(sgi.errors.StoreError, match="deleted meanwhile"):
        run["grounding"]


def test_calibrate_card_and_agree_read_labels(tmp_path):
    path = tmp_path / "sgi.db"
    with open_database(path) as database:
        labelled_run(database)
    result = sgi.api.calibrate("r1", "sgi", "fpr=0.1", db=path)
    assert (result.metric, result.rows, result.thresholds.target.value) == ("sgi", 240, 0.1)
    report = sgi.api.agree("r1", metrics=["sgi"], threshold=0.5, db=path)
    assert report.metrics[0].rows == 240


def test_export_and_report_write_files(db, tmp_path):
    assert sgi.api.export("monday", tmp_path / "rows.jsonl", db=db) == 24
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 24
    text = sgi.report("monday", out=tmp_path / "page.html", db=db)
    assert (tmp_path / "page.html").read_text() == text
    view = json.loads(sgi.report("monday", "friday", format="json", db=db))
    assert view["new"]["name"] == "friday"
    with pytest.raises(sgi.errors.UsageError, match="not a known format"):
        sgi.report("monday", out=tmp_path / "page.pdf", db=db)


def test_run_stores_what_the_command_stores(tmp_path):
    data, path = tmp_path / "rows.jsonl", tmp_path / "sgi.db"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(24)))
    settings = {"out": tmp_path / "scores.jsonl", "cluster": "topic"}
    run = sgi.run(data, METRICS, name="monday", tags=["b", "a"], db=path, cache=False, **settings)
    assert (run.name, run.record.tags, run.record.finished, run.record.cluster) == (
        "monday",
        ("a", "b"),
        True,
        "topic",
    )
    command = f"run {data} -m grounding,content_f1 --name friday --db {path} --cluster topic --no-cache -q"
    assert CliRunner().invoke(app, shlex.split(command), catch_exceptions=False).exit_code == 0
    friday = sgi.open_run("friday", db=path)
    assert friday.to_dicts() == run.to_dicts()
    assert friday.record.spec_hash == run.record.spec_hash
    assert len((tmp_path / "scores.jsonl").read_text().splitlines()) == 24


def test_run_refuses_rows_in_memory_wrong_settings_and_a_name_in_use(db, tmp_path):
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps(rows(12)[0]) + "\n")
    with pytest.raises(sgi.errors.UsageError, match=r"from a file, not from a list.*sgi\.evaluate"):
        sgi.run(rows(12), db=db)
    with pytest.raises(sgi.errors.UnknownNameError, match="max_failure"):
        sgi.run(data, db=db, max_failure=0.1)
    with pytest.raises(sgi.errors.UsageError, match="`out`"):
        sgi.run(data, "content_f1", out=data, db=db)
    with pytest.raises(sgi.errors.UsageError, match="monday"):
        sgi.run(data, "content_f1", name="monday", db=db)
    assert len(sgi.runs(db=db)) == 2


def test_rescore_makes_a_new_run_from_stored_judgements(tmp_path, monkeypatch):
    register_metrics(monkeypatch)
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(12)))
    with open_database(tmp_path / "sgi.db") as database:
        first = judged_run(database, data).run
    again = sgi.api.rescore(first, ["politeness"], name="again", db=tmp_path / "sgi.db")
    assert (again.name, [*again]) == ("again", ["politeness"])
    stored = sgi.open_run(first, db=tmp_path / "sgi.db")
    assert again["politeness"].values.tolist() == stored["politeness"].values.tolist()
    assert sgi.api.rescore(stored).record.spec["rescored_from"] == first


def test_duel_takes_stored_runs(db):
    judge = ScriptedJudge(lambda *_: {"reasoning": "Both are equal.", "better": "tie"})
    result = sgi.api.duel("monday", "friday", judge=judge, on=["directness"], aa=5, cache=False, db=db)
    (part,) = result.criteria
    (pair,) = part.pairs
    assert (part.criterion, part.aa.questions) == ("directness", 5)
    assert (pair.first, pair.second, pair.counts["tie"], pair.win_rate) == ("monday", "friday", 24, 0.5)
