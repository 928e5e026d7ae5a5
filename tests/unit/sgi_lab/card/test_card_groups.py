"""AUROC within the groups of a column: what is left of a ranking that groups explain."""

import json

import numpy as np
import pytest

from sgi.stats.confounds import stratified_auroc
from sgi.stats.ranking import auroc
from sgi.text.overlap import token_precision
from sgi_lab.card.card_groups import left_out_auroc, rate_auroc, subgroups_of, value_names
from sgi_lab.card.card_views import card_markdown, card_tables
from sgi_lab.card.controls import LabelledScores
from sgi_lab.card.make_card import detector_card

GENERATOR = np.random.default_rng(0)
N = 240
MODELS = np.tile(["good", "fair", "poor"], N // 3)
QUESTIONS = np.repeat(np.arange(N // 3), 3)
LABELS = GENERATOR.random(N) < np.select([MODELS == "good", MODELS == "fair"], [0.9, 0.7], 0.3)
DATA = LabelledScores(GENERATOR.random(N), LABELS, QUESTIONS, 40, 0)


def named(card):
    return {one.column: one for one in card.within}


def test_a_score_that_knows_the_group_alone_ranks_nothing_within_it():
    scores = np.select([MODELS == "good", MODELS == "fair"], [2.0, 1.0], 0.0) + GENERATOR.random(N)
    coin = GENERATOR.integers(0, 4, N).tolist()
    columns = {"model": MODELS.tolist(), "coin": coin, "row": list(range(N)), "one": ["same"] * N}
    card = detector_card("score", scores, LABELS, clusters=QUESTIONS, subgroups=columns, draws=20)
    assert list(named(card)) == ["model", "coin"]
    found = named(card)["model"]
    assert card.ranking.auroc > 0.7
    assert found.within == stratified_auroc(scores, LABELS, MODELS, QUESTIONS)
    assert found.within.ranking.interval.low < 0.5 < found.within.ranking.interval.high
    assert (found.values, found.ranks_labels, named(card)["coin"].ranks_labels) == (3, True, False)
    (warning,) = (text for text in card.warnings if "alone predicts" in text)
    assert warning.startswith(f"The column model alone predicts the labels (AUROC {found.alone:.3f}, p = ")
    assert f"the AUROC of the score is {found.within.ranking.auroc:.3f} [" in warning


def test_it_is_in_the_tables_the_page_and_the_json():
    lengths = GENERATOR.integers(5, 50, N)
    card = detector_card(
        "s", GENERATOR.random(N), LABELS, lengths=lengths, columns={"model": MODELS}, draws=20
    )
    found = named(card)["model"]
    table = next(one for one in card_tables(card) if one.title == "Within groups")
    assert [row[:2] for row in table.rows] == [("model", "this score"), ("model", "length")]
    assert table.rows[0][5:] == (f"{found.alone:.3f}", f"{found.left_out:.3f}", f"{found.p:.3f}")
    page = card_markdown(card)
    assert "## Within groups" in page
    assert "The column model alone predicts the labels" in page
    within = json.loads(json.dumps(card.to_dict()))["within"][0]
    assert within["within"]["ranking"]["auroc"] == found.within.ranking.auroc
    assert within["ranks_labels"] is True
    assert card.subgroups[0].column == "length"  # columns make no subgroups


def test_a_column_without_a_group_of_both_labels_is_left_out():
    card = detector_card("s", GENERATOR.random(N), LABELS, columns={"label again": LABELS.tolist()}, draws=20)
    assert card.within == ()


def test_the_column_alone_by_counting_pairs():
    groups = GENERATOR.integers(0, 5, 60)
    labels = GENERATOR.random(60) < 0.5
    shares = np.array([labels[groups == group].mean() for group in groups])
    assert rate_auroc(groups, labels) == pytest.approx(auroc(shares, labels))
    won = []
    for i in np.flatnonzero(labels):
        for j in np.flatnonzero(~labels):
            one, other = (labels[(groups == groups[k]) & (np.arange(60) != k)].mean() for k in (i, j))
            won.append(0.5 if groups[i] == groups[j] else (one > other) + 0.5 * (one == other))
    assert left_out_auroc(groups, labels) == pytest.approx(np.mean(won))


@pytest.mark.slow
def test_columns_that_say_nothing_are_rarely_taken_to_rank_the_labels():
    generator = np.random.default_rng(1)
    found = []
    for _ in range(40):
        columns = {name: generator.integers(0, 8, 60).tolist() for name in "abc"}
        labels = generator.random(60) < 0.5
        card = detector_card(
            "s", generator.random(60), labels, clusters=np.arange(60) // 2, columns=columns, draws=1
        )
        found.append(any(one.ranks_labels for one in card.within))
    assert np.mean(found) <= 0.125


def test_the_generator_ranks_the_labels_of_ragtruth(data_folder):
    lines = (data_folder / "ragtruth_qa_test.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    card = detector_card(
        "token precision",
        [token_precision(row["response"], tuple(row["context"])) for row in rows],
        [row["label"] for row in rows],
        clusters=[row["question"] for row in rows],
        columns={"model": [row["meta"]["model"] for row in rows]},
        draws=20,
    )
    found = named(card)["model"]
    assert card.rows == 306
    assert card.ranking.auroc == pytest.approx(0.751, abs=5e-4)
    assert found.within.ranking.auroc == pytest.approx(0.641, abs=5e-4)
    assert found.alone == pytest.approx(0.735, abs=5e-4)
    assert found.left_out == pytest.approx(0.698, abs=5e-4)
    assert any("The column model alone predicts the labels (AUROC 0.735" in text for text in card.warnings)


def test_subgroups_keep_the_order_of_the_rows_and_count_what_is_not_known():
    columns = {"model": ["b", "a", None] * (N // 3), "one": ["x"] * N, "each": list(range(N))}
    found = subgroups_of(DATA, columns, None)
    assert [(one.column, one.value) for one in found] == [("model", "b"), ("model", "a"), ("model", "(none)")]
    assert {one.rows for one in found} == {N // 3}
    assert found[0].ranking.auroc == auroc(DATA.scores[::3], LABELS[::3])
    gaps = np.where(np.arange(N) < 10, np.nan, np.arange(N, dtype=float))
    thirds = subgroups_of(DATA, {}, gaps)
    assert sum(one.rows for one in thirds) == N - 10
    assert thirds[0].value == "short (10 to 86)"
    assert subgroups_of(DATA, {}, np.full(N, np.nan)) == ()
    # All of one length are one third.
    assert [one.value for one in subgroups_of(DATA, {}, np.full(N, 7.0))] == ["short (7 to 7)"]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**30, "\x1b[31m|", "", b"bytes", {1}.__class__]
)
def test_any_plain_value_has_a_name(value):
    (name,) = value_names([value])
    assert isinstance(name, str)
    assert value_names([value, {"a": 1}]) is None
