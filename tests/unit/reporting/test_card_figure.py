"""A detector card as one figure."""

from __future__ import annotations

import numpy as np
import pytest

from sgi.analysis.card.make_card import detector_card
from sgi.reporting.card_figure import BY_LENGTH, WITHIN, card_chart
from sgi.reporting.charts import save_figure

ROWS = 200


@pytest.fixture(scope="module")
def made():
    draw = np.random.default_rng(0)
    labels = np.arange(ROWS) % 2 == 0
    return detector_card(
        "mine",
        labels + draw.normal(size=ROWS),
        labels,
        lengths=draw.integers(1, 20, ROWS),
        precisions=draw.uniform(size=ROWS),
        shuffled=draw.normal(size=ROWS),
        draws=100,
    )


def rows(chart):
    return [row for part in chart["hconcat"] for row in part["data"]["values"]]


def test_the_score_stands_among_its_baselines_and_controls(made):
    dots = [row for row in rows(card_chart(made)) if "label" in row]
    labels = {row["label"] for row in dots}
    assert {"mine", "contexts shuffled", "labels shuffled"} <= labels
    assert any(label.startswith("length") for label in labels)
    of_mine = {row["series"]: row["value"] for row in dots if row["label"] == "mine"}
    assert of_mine["all rows"] == pytest.approx(made.ranking.auroc)
    assert of_mine[BY_LENGTH] == pytest.approx(made.length_matched.ranking.auroc)
    assert of_mine[WITHIN] == pytest.approx(made.length_stratified.ranking.auroc)


def test_reliability_stands_beside_where_there_is_one(made):
    series = {row["series"] for row in rows(card_chart(made)) if "confidence" in row and "series" in row}
    assert series == {"platt", "isotonic"}


def test_a_card_of_nothing_but_scores_is_a_figure_too(tmp_path):
    bare = detector_card("mine", [1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1], draws=20)
    picture, drawing = (save_figure(card_chart(bare), tmp_path / f"card{kind}") for kind in (".png", ".svg"))
    assert picture.stat().st_size > 1000
    assert "mine" in drawing.read_text(encoding="utf-8")
