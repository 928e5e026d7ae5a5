"""The verdict on a judge from labels, the audit in the database, and what gates make of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa

from sgi import api
from sgi.analysis.audit.audit import audit_labels, scorer_key
from sgi.analysis.audit.audited_means import audited_means
from sgi.analysis.audit.label_sample import label_order, question_rows, rows_to_label, says_yes
from sgi.analysis.audit.probes import Probe
from sgi.analysis.gate.looks import gate_stored_run
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import StoreDamagedError, UsageError
from sgi.store import schema
from sgi.store.audits import StoredAudit, audits_of, store_audit
from sgi.store.evaluations import sample_evaluation
from sgi.store.human_labels import store_label
from sgi.store.label_consensus import HumanLabel, text_version
from sgi.store.manage_runs import delete_run
from support.calibrations import labelled_run, signature

JUDGE = "openai:m,temperature=0.0,seed=0,max_tokens=4096@abcd1234"
RULE = "faithfulness>=0.1"


def judged(database, *, run="r1", rows=200, right=0.97, labels=60, judge=JUDGE, share=0.5, labelled=None):
    """A run of a judge that is right about this share of the answers, and which answers are good.

    Of the rows, ``labels`` random ones have a label, or those of the slice ``labelled``.
    """
    generator = np.random.default_rng(3)
    good = generator.random(rows) < share
    says = np.where(generator.random(rows) < right, good, ~good)
    known = generator.permutation(rows) < labels
    if labelled is not None:
        known = np.isin(np.arange(rows), np.arange(rows)[labelled])
    changes = {
        row: {"question": f"{row}?", "label": bool(good[row]) if known[row] else None} for row in range(rows)
    }
    record = labelled_run(
        database,
        "faithfulness",
        run=run,
        rows=rows,
        run_signature=signature(judge=judge),
        changes=changes,
        values=says.astype(float).tolist(),
    )
    return record, good


def audited(database, record, **options):
    """Audit a run, and store the audit."""
    audit, provenance, _ = audit_labels(database, record, "faithfulness", **options)
    audit = audit.after(audits_of(database, scorer_key("faithfulness", provenance)))
    store_audit(database, audit.stored(provenance))
    return audit


def label_by_hand(database, record, names, good, *, skip=()):
    """Label rows as a person does; ``good`` is by the number of the row."""
    for name in names:
        sample = sample_evaluation(database, record, name).sample
        value = None if name in skip else bool(good[int(name[1:])])
        label = HumanLabel(name, text_version(sample), "ada", value)
        store_label(database, record.dataset_name, label)


@pytest.mark.parametrize(
    ("right", "labels", "verdict"),
    [(0.97, 60, "TRUSTED"), (0.55, 90, "NOT TRUSTED"), (0.97, 12, "NEED"), (0.97, 8, "NEED")],
)
def test_the_verdict_follows_the_labels(database, right, labels, verdict):
    record, _ = judged(database, right=right, labels=labels)
    audit = audited(database, record)
    assert (audit.verdict, audit.counts.labelled, audit.rows) == (verdict, labels, 200)
    assert (audit.trust.more is None) == (verdict != "NEED")
    if labels < 10:
        assert audit.text == f"NEED {audit.trust.more} MORE LABELS"
        assert audit.trust.more >= 10 - labels


def test_labels_of_one_class_are_never_enough(database):
    record, _ = judged(database, share=1.0, right=1.0)
    assert audited(database, record).verdict == "NEED"


def test_the_corrected_share_covers_the_truth_and_the_raw_share_does_not(database):
    record, good = judged(database, rows=2000, labels=400, right=0.8, share=0.2)
    audit = audited(database, record)
    low, high = audit.corrected.interval
    assert low <= good.mean() <= high < audit.share_yes


def test_answers_to_one_question_count_once(database):
    changes = {row: {"question": "the same?", "label": True} for row in range(40)}
    record = labelled_run(database, "faithfulness", rows=40, changes=changes, values=[1.0] * 40)
    audit, _, _ = audit_labels(database, record, "faithfulness")
    assert (audit.rows, audit.counts.labelled) == (1, 1)


def test_a_row_without_a_value_is_left_out_and_named(database):
    values = [None] * 5 + [1.0] * 35
    record = labelled_run(
        database,
        "faithfulness",
        rows=40,
        changes={row: {"question": f"{row}?", "label": True} for row in range(40)},
        values=values,
    )
    audit, _, _ = audit_labels(database, record, "faithfulness")
    assert audit.counts.labelled == 35
    assert audit.notes[0] == "5 of 40 rows have no value and are left out (35 ok, 5 missing)."


def test_labels_by_people_count_from_the_beginning_of_the_order(database):
    record, good = judged(database, labels=0)
    run = read_run(database, record)
    order = [run.ids[row] for row in label_order(run, "faithfulness")]
    yes = says_yes(run.metric("faithfulness"), 0.5)
    assert abs(sum(yes[run.ids.index(name)] for name in order[:40]) - 20) <= 1
    nothing, _, _ = audit_labels(database, record, "faithfulness", "people")
    assert [
        name for name, _ in rows_to_label(database, record, "faithfulness", 0.5, nothing.used, 40)
    ] == order[:40]
    label_by_hand(database, record, order[:40], good)
    label_by_hand(database, record, order[-3:], good)  # chosen for another reason
    audit = audited(database, record, label="people")
    assert audit.counts.labelled == 40
    ((name, chance), *_) = rows_to_label(database, record, "faithfulness", 0.5, audit.used, 10)
    part = yes == yes[run.ids.index(name)]
    assert name == order[40]
    assert chance == pytest.approx(25 / part.sum(), abs=2 / part.sum())


def test_columns_that_are_no_random_sample_are_refused(database):
    record, _ = judged(database)
    for threshold in (float("nan"), 7):
        with pytest.raises(UsageError, match="not in the range"):
            audit_labels(database, record, "faithfulness", threshold=threshold)
    for label in ("people-all", "people:faithfulness"):
        with pytest.raises(UsageError, match="not a random sample"):
            audit_labels(database, record, "faithfulness", label)
    with pytest.raises(UsageError, match="no default threshold"):
        audit_labels(database, labelled_run(database, "sgi", run="r2"), "sgi")


def test_a_gate_names_the_audit_and_can_require_it(database):
    record, _ = judged(database)
    report, notes = gate_stored_run(database, record, RULE)
    assert report.passed
    assert notes[0].startswith("faithfulness has no valid audit: nobody has audited")
    report, _ = gate_stored_run(database, record, RULE, require_audit=True)
    assert (report.passed, "no valid audit" in report.checks[0].reason) == (False, True)
    audited(database, record)
    later, _ = judged(database, run="r2", labels=0, share=0.3)
    report, notes = gate_stored_run(database, later, RULE, require_audit=True)
    assert (report.passed, "TRUSTED by the audit of r1 (60 labels" in notes[0]) == (True, True)
    assert "corrected by the audit" in notes[0]


@pytest.mark.parametrize("judge", [JUDGE.replace("openai:m", "openai:n"), JUDGE.replace("abcd", "dcba"), "-"])
def test_another_judge_or_other_prompts_need_another_audit(database, judge):
    audited(database, judged(database)[0])
    other, _ = judged(database, run="r2", judge=judge)
    means = audited_means(database, other)
    assert [mean.trusted for mean in means] == ([] if judge == "-" else [False])


def test_a_metric_without_a_judge_needs_no_audit_in_a_gate(database):
    record = labelled_run(database, "rouge_l", values=[1.0] * 240)
    report, notes = gate_stored_run(database, record, "rouge_l>=0.5", require_audit=True)
    assert (report.passed, notes) == (True, [])


def test_an_untrusted_judge_fails_a_gate_that_requires_an_audit(database):
    record, _ = judged(database, right=0.5, labels=120)
    audited(database, record)
    report, _ = gate_stored_run(database, record, RULE, require_audit=True)
    assert (report.passed, "NOT TRUSTED" in report.checks[0].reason) == (False, True)


def test_an_audit_ends_when_its_labels_change_or_its_run_is_deleted(database):
    record, good = judged(database, labels=0)
    run = read_run(database, record)
    names = [run.ids[row] for row in label_order(run, "faithfulness")[:60]]
    label_by_hand(database, record, names, good)
    assert audited(database, record, label="people").verdict == "TRUSTED"
    later, _ = judged(database, run="r2", labels=0)
    assert audited_means(database, later)[0].trusted
    label_by_hand(database, record, names[:1], ~good)
    assert audited_means(database, later)[0].obstacle.startswith("1 of its labels has changed")
    label_by_hand(database, record, names[:1], good)
    delete_run(database, "r1")
    assert "was deleted" in audited_means(database, later)[0].obstacle


def test_the_first_verdict_is_kept_while_its_labels_are(database):
    record, good = judged(database, labels=0, right=0.85)
    run = read_run(database, record)
    order = [run.ids[row] for row in label_order(run, "faithfulness")]
    verdicts = []
    for count in range(10, 130, 4):
        label_by_hand(database, record, order[max(0, count - 4) : count] if verdicts else order[:count], good)
        plain, _, _ = audit_labels(database, record, "faithfulness", "people")
        kept = api.audit(record.id, "faithfulness", "people", db=database.shown)
        verdicts.append((plain.verdict, kept.verdict))
    first = next(place for place, (_, verdict) in enumerate(verdicts) if verdict == "TRUSTED")
    assert ("NEED", "TRUSTED") in verdicts
    assert all(verdict == "TRUSTED" for _, verdict in verdicts[first:])
    label_by_hand(database, record, order[:1], ~good)
    assert api.audit(record.id, "faithfulness", "people", db=database.shown).verdict == "NEED"


def test_the_python_api_stores_the_audit(database, tmp_path):
    record, _ = judged(database)
    audit = api.audit(record.id, "faithfulness", db=database.shown)
    assert audit.to_dict()["verdict"] == "TRUSTED"
    assert api.gate(record.id, RULE, require_audit=True, db=database.shown).passed
    assert audited_means(database, record)[0].to_dict()["trusted"]


def test_one_row_of_each_question_is_chosen_before_any_label(database):
    generator = np.random.default_rng(5)
    says = generator.random(600) < 0.93
    good = np.where(generator.random(600) < 0.9, says, ~says)
    changes = {row: {"question": f"{row % 40}?", "label": None} for row in range(600)}
    record = labelled_run(
        database,
        "faithfulness",
        rows=600,
        run_signature=signature(judge=JUDGE),
        changes=changes,
        values=says.astype(float).tolist(),
    )
    run = read_run(database, record)
    rows = question_rows(run, run.metric("faithfulness").ok)
    order = [run.ids[row] for row in label_order(run, "faithfulness")]
    assert len(order) == rows.sum() == 40
    label_by_hand(database, record, run.ids[::7], good)
    before = audit_labels(database, record, "faithfulness", "people")[0]
    label_by_hand(database, record, order, good)
    after = audit_labels(database, record, "faithfulness", "people")[0]
    assert before.share_yes == after.share_yes == says[rows].mean()
    assert after.counts.labelled == 40


def test_skipped_rows_rule_out_trust(database):
    record, good = judged(database, labels=0, right=0.8)
    run = read_run(database, record)
    order = [run.ids[row] for row in label_order(run, "faithfulness")][:100]
    yes = says_yes(run.metric("faithfulness"), 0.5)
    wrong = [name for name in order if yes[run.ids.index(name)] != good[int(name[1:])]]
    label_by_hand(database, record, order, good, skip=wrong)
    audit = audited(database, record, label="people")
    assert (audit.trust.verdict, audit.verdict) == ("TRUSTED", "NEED")
    assert audit.text == "NEED A RANDOM SAMPLE OF LABELS"
    assert "hard to decide" in audit.reason


@pytest.mark.parametrize("rows", [slice(60), slice(140, None)])
def test_the_first_or_last_rows_are_no_random_sample(database, rows):
    record, _ = judged(database, labelled=rows)
    audit = audited(database, record)
    assert (audit.trust.verdict, audit.verdict) == ("TRUSTED", "NEED")
    assert "first or last 60" in audit.reason


def test_a_bias_is_remembered_until_its_probe_finds_nothing(database):
    record, _ = judged(database)
    audit, provenance, _ = audit_labels(database, record, "faithfulness")
    key = scorer_key("faithfulness", provenance)
    biased = replace(audit, probes=(Probe("length", "ok", flagged=True, says="Padding raises the score."),))
    store_audit(database, biased.stored(provenance))
    later = audit.after(audits_of(database, key))
    assert (later.verdict, later.reason) == ("NOT TRUSTED", "Padding raises the score.")
    store_audit(database, later.stored(provenance))
    unclear = replace(audit, probes=(Probe.missing("length", "offline"),)).after(audits_of(database, key))
    assert unclear.verdict == "NOT TRUSTED"
    cleared = replace(audit, probes=(Probe("length", "ok"),)).after(audits_of(database, key))
    assert cleared.verdict == "TRUSTED"


def test_one_audit_that_says_no_decides_and_one_without_labels_does_not(database):
    good_run, _ = judged(database)
    audited(database, good_run)
    bad_run, _ = judged(database, run="r2", right=0.5, labels=120)
    empty, _ = judged(database, run="r3", labels=0)
    audited(database, empty, label="people")
    assert audited_means(database, empty)[0].trusted
    audited(database, bad_run)
    audited(database, good_run)
    assert audited_means(database, empty)[0].verdict == "NOT TRUSTED"
    delete_run(database, "r2")
    assert audited_means(database, empty)[0].trusted


def test_a_run_that_does_not_record_its_judge_fails_a_gate_that_requires_an_audit(database):
    record, _ = judged(database, judge=JUDGE)
    with database.writing() as connection:
        connection.execute(sa.update(schema.run_metrics).values(provenance=None))
    report, _ = gate_stored_run(database, record, RULE, require_audit=True)
    assert (report.passed, "does not record its judge" in report.checks[0].reason) == (False, True)


def test_a_damaged_audit_is_an_error_with_its_id(database):
    record, _ = judged(database)
    _, provenance, _ = audit_labels(database, record, "faithfulness")
    key = scorer_key("faithfulness", provenance)
    store_audit(database, StoredAudit(key, "faithfulness", "r1", "TRUSTED", {"counts": "many"}))
    with pytest.raises(StoreDamagedError, match="of faithfulness is damaged"):
        audited_means(database, record)
