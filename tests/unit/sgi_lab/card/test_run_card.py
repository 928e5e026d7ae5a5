import asyncio
from collections import Counter

import pytest

from sgi.kernel import registry
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.sample import Sample
from sgi_lab.card.run_card import _most, card_of_run
from support import overlap_metric
from support.runs import add_run

SCORES = [1.0, 0.3, 0.9, 0.2, 0.2, 0.1] * 4


@pytest.fixture(autouse=True)
def _support(monkeypatch):
    names = registry.metric_names
    overlap_metric.register_metric(monkeypatch)
    yield
    names.cache_clear()


def samples(**changes):
    return [Sample(**{**row, **changes}) for row in overlap_metric.rows(12)]


def card(database, metric="support", run="r1", **options):
    return card_of_run(run, metric, draws=50, db=database.shown, **options)


def test_scores_are_those_that_the_run_keeps(database):
    add_run(database, samples=samples(), scores={"support": SCORES})
    made = card(database)
    assert made.name == "support on data of r1"
    assert made.signature == "sgi:1"
    assert (made.rows, made.clusters, made.dropped) == (24, 12, {})
    truth = [bool(sample.label) for sample in samples()]
    pairs = [
        (good > bad) + (good == bad) / 2
        for good, is_good in zip(SCORES, truth, strict=True)
        for bad, is_bad in zip(SCORES, truth, strict=True)
        if is_good and not is_bad
    ]
    assert made.ranking.auroc == pytest.approx(sum(pairs) / len(pairs))
    # Every metric that can be computed here is, from the contexts that the run has.
    assert made.shuffled.ranking is not None


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("gone_since", "the metric cannot be computed here: Unknown metric 'gone_since'."),
        ("sgi", "the run was scored without minilm@"),
        ("faithfulness", "the metric asks a judge"),
        ("rouge_l", "the metric reads no contexts"),
    ],
)
def test_contexts_are_shuffled_only_where_the_same_score_would_be_made(database, metric, reason):
    add_run(database, samples=samples(), scores={metric: SCORES})
    made = card(database, metric)
    assert made.shuffled.ranking is None
    assert made.shuffled.reason.startswith(reason)
    assert made.length_matched.shuffled.reason == made.shuffled.reason


def test_another_version_of_the_metric_is_another_score(database, monkeypatch):
    spec = overlap_metric.Support.spec
    monkeypatch.setattr(overlap_metric.Support, "spec", type(spec)("support", 2, spec.needs, 0.0, 1.0))
    add_run(database, samples=samples(), scores={"support": SCORES})
    assert card(database).shuffled.reason == "the run was scored with version 1, but version 2 is installed"


def test_one_list_of_contexts_for_all_cannot_be_shuffled(database):
    add_run(database, samples=samples(contexts=("the same",)), scores={"support": SCORES})
    made = card(database)
    assert made.shuffled.reason == "all rows have the same question or the same contexts"
    assert made.baselines[1].name == "content-word precision"


def test_without_contexts_there_is_no_overlap_and_no_cosine_with_them(database):
    bare = [Sample(id=s.id, question=s.question, response=s.response, label=s.label) for s in samples()]
    add_run(database, samples=bare, scores={"rouge_l": SCORES})
    made = card(database, "rouge_l")
    assert [found.name for found in made.baselines] == ["length", "cos(r,q)"]
    assert made.precision_matched is None


def test_what_the_run_has_not_is_named(database):
    add_run(database, samples=samples(), scores={"support": SCORES})
    with pytest.raises(UnknownNameError, match="sgi"):
        card(database, "sgi")
    with pytest.raises(UnknownNameError, match="colour"):
        card(database, by=["colour"])
    with pytest.raises(UnknownNameError, match="'nomodel'"):
        card(database, embedder="nomodel")


def test_a_metric_of_which_lower_is_better_is_turned(database):
    import sqlalchemy as sa

    from sgi.store import schema

    add_run(database, samples=samples(), scores={"support": SCORES})
    add_run(database, "r2", samples=samples(), scores={"distance": [1 - score for score in SCORES]})
    numbered = schema.run_metrics.c.run == "r2"
    with database.writing() as connection:
        connection.execute(sa.update(schema.run_metrics).where(numbered).values(higher_is_better=False))
    higher, lower = card(database, shuffled=False), card(database, "distance", "r2", shuffled=False)
    assert (higher.higher_is_better, lower.higher_is_better) == (True, False)
    assert lower.ranking == higher.ranking
    assert lower.average_precision == higher.average_precision
    assert lower.length_matched.ranking == higher.length_matched.ranking
    assert lower.baselines == higher.baselines


def test_a_calibration_held_against_the_rows_it_was_fitted_on_is_a_warning(database):
    import sqlalchemy as sa

    from sgi.store import schema

    name = 'calibrated(metric="support", calibration="3f2a")'
    add_run(database, samples=samples(), scores={name: SCORES, "support": SCORES})

    def warned(metric, **fitted):
        spec = {"calibration": fitted} if fitted else {}
        with database.writing() as connection:
            connection.execute(sa.update(schema.runs).values(spec=spec))
        return [warning for warning in card(database, metric).warnings if "fitted on these rows" in warning]

    assert len(warned(name, dataset="data of r1")) == 1
    assert warned(name, dataset="other data") == []
    assert warned(name) == []
    assert warned("support", dataset="data of r1") == []


def test_missing_scores_missing_labels_and_bare_samples_in_one_run(database):
    mixed = [
        Sample(
            **{
                **row,
                "label": None if k in {2, 3} else row["label"],
                "contexts": () if k in {4, 5} else row["contexts"],
                "question": " " if k in {6, 7} else row["question"],
            }
        )
        for k, row in enumerate(overlap_metric.rows(12))
    ]
    add_run(database, samples=mixed, scores={"support": [None, None, None, *SCORES[3:]]})
    made = card(database)
    # A row without a label is not looked at further, so the third counts there alone.
    assert made.dropped == {"missing: no response": 2, "no label": 2}
    assert made.rows == 20
    # Two of the twelve questions are dropped whole; the two answers without one share their passages.
    assert made.clusters == 10
    found = {one.name: one.ranking.positives + one.ranking.negatives for one in made.baselines}
    assert found == {
        "length": 20,
        "content-word precision": 18,
        "overlap": 18,
        "verbatim": 18,
        "cos(r,q)": 18,
        "cos(r,c)": 18,
    }


def test_many_reasons_are_told_together():
    counts = Counter({f"failed: reason {n}": n for n in range(1, 12)})
    most = _most(counts)
    assert sum(most.values()) == counts.total()
    assert most["other reasons"] == 1 + 2 + 3
    assert len(most) == 9
    assert _most(Counter({"no label": 3})) == {"no label": 3}


def test_other_metrics_of_the_run_stand_among_the_rivals(database):
    turned = [-score for score in SCORES]
    scores = {"support": SCORES, "sgi": [None, *SCORES[1:]], "rouge_l": turned}
    add_run(database, samples=samples(), scores=scores)
    made = card(database, beside=["rouge_l", "sgi", "support"])
    areas = {one.name: one.ranking.auroc for one in made.baselines}
    assert {"sgi", "rouge_l"} < set(areas)
    assert "support" not in areas
    assert areas["rouge_l"] == pytest.approx(1 - made.ranking.auroc)
    assert made.differences["sgi"].value == pytest.approx(0.0)
    with pytest.raises(UnknownNameError, match="theta_rc"):
        card(database, beside=["theta_rc"])


def test_rows_are_clustered_by_the_rule_of_the_run_or_another(database):
    add_run(database, samples=samples(question="Summarize."), scores={"support": SCORES})
    assert card(database).clusters == 1
    assert "cluster them by contexts" in " ".join(card(database).notes)
    assert card(database, cluster="contexts").clusters == 12
    assert card(database, cluster="row").clusters == 24


def test_a_card_is_made_inside_an_event_loop(database):
    add_run(database, samples=samples(), scores={"support": SCORES})

    async def inside():
        return card(database, shuffled=False)

    assert asyncio.run(inside()).rows == 24
