import html
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.analysis.agreement.report import Estimate
from sgi.reporting.charts import save_figure
from sgi.stats.auroc_difference import AurocDifference
from sgi.stats.calibration import brier, reliability
from sgi.stats.confounds import PermutationControl, StratifiedAuroc
from sgi_lab.card.card import Calibration, MatchedControl, ShuffledControl, Subgroup
from sgi_lab.card.card_views import (
    BY_LENGTH,
    WITHIN,
    card_chart,
    card_markdown,
    card_tables,
    headline,
    remarks,
)
from sgi_lab.card.make_card import detector_card
from support.cards import baseline, card, interval, ranking_of

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30)


def full(**changes):
    forecast = [0.5, 0.5, 0.75, 0.75], [0, 1, 0, 1]
    constant = Calibration("base rate", 0.0, 0.0, brier(*forecast), None, reliability(*forecast))
    platt = replace(
        constant, method="platt", error_of_width=0.125, gain=Estimate(0.01, interval(-0.02, 0.04), 4)
    )
    values = {
        "baselines": (
            baseline("length", 0.97, 0.96, 0.98, "shorter"),
            baseline("content-word precision", 0.6, 0.5, 0.7),
        ),
        "differences": {"content-word precision": AurocDifference(0.2, interval(0.1, 0.3), 100)},
        "length_matched": MatchedControl(
            0.0,
            20,
            ranking_of(0.77, 0.75, 0.79),
            (baseline("length", 0.5, 0.5, 0.5, "lower"),),
            {},
            ShuffledControl(ranking_of(0.55)),
        ),
        "length_within": ranking_of(0.64, 0.6, 0.68),
        "length_stratified": StratifiedAuroc(ranking_of(0.75, 0.7, 0.8), 9, 3),
        "precision_matched": MatchedControl(
            0.05, 15, ranking_of(0.7), (), {}, ShuffledControl(None, reason="none")
        ),
        "permuted": PermutationControl(0.501, interval(0.45, 0.55), 200, 0.005),
        "shuffled": ShuffledControl(ranking_of(0.9, 0.88, 0.92)),
        "subgroups": (
            Subgroup("model", "gpt", 7, 2 / 7, None),
            Subgroup("model", "t5", 93, 0.4, ranking_of(0.8)),
        ),
        "calibration": (platt, constant),
        "dropped": {"no label": 1234},
        "warnings": ("look for a leak",),
        "notes": ("Near chance.",),
        "signature": "sgi:1|emb:minilm",
    }
    return card(**{**values, **changes})


def cells(page, name):
    (line,) = (line for line in page.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split(" | ")][1:]


def test_every_number_stands_in_its_table():
    page = card_markdown(full())
    assert cells(page, "AUROC") == ["0.800", "[0.750, 0.850]", "0.5"]
    assert cells(page, "average precision (ungrounded)") == ["0.900", "[0.850, 0.950]", "0.600"]
    assert cells(page, "false positives at 95 % recall (ungrounded)")[::2] == ["0.400", "0.95"]
    assert cells(page, "AUROC with labels shuffled, mean of 200 (p = 0.005)")[0] == "0.501"
    assert cells(page, "the score with contexts shuffled") == [
        "0.900 [0.880, 0.920]",
        "–",
        "0.550",
        "–",
    ]
    assert cells(page, "20 pairs of equal length") == [
        "0.770",
        "[0.750, 0.790]",
        "length 0.500 [0.500, 0.500]",
        "40 / 60",
    ]
    assert (
        cells(page, "all rows")[2]
        == "length 0.970 [0.960, 0.980]; content-word precision 0.600 [0.500, 0.700]"
    )
    assert cells(page, "within 9 strata of length, 3 rows in strata of one label")[::2] == [
        "0.750",
        "length 0.640 [0.600, 0.680]",
    ]
    assert cells(page, "15 pairs of content-word precision within bins of 0.05")[:3] == ["0.700", "–", "–"]
    assert cells(page, "length (shorter = grounded)") == [
        "0.970 [0.960, 0.980]",
        "–",
        "0.500 [0.500, 0.500]",
        "–",
    ]
    assert cells(page, "content-word precision (higher = grounded)")[1:] == [
        "+0.200 [+0.100, +0.300]",
        "–",
        "–",
    ]
    assert "| model | gpt | 7 | 28.6 % | – | – |" in page
    assert cells(page, "platt") == [
        *("0.1250", "0.0000", "0.2812", "0.0312", "0.0000", "0.2500", "0.0100", "[-0.0200, 0.0400]"),
    ]
    assert cells(page, "base rate")[-2:] == ["–", "–"]
    assert cells(page, "no label") == ["1,234"]
    assert "> **Warning.** look for a leak" in page
    assert "\n- Near chance.\n" in page
    assert page.endswith("Signature: sgi:1\\|emb:minilm\n")


def test_what_is_not_there_has_no_table():
    titles = [table.title for table in card_tables(card())]
    assert titles == ["Ranking performance"]
    assert [table.title for table in card_tables(full())] == [
        *("Ranking performance", "Matched by length and content-word precision"),
        *("Comparison with trivial baselines", "By subgroup", "Calibration", "Excluded rows"),
    ]


def test_remarks_say_why_something_is_not_there():
    text = " ".join(remarks(card(uncalibrated="too few clusters.", unpermuted="all are alike")))
    assert "Labels were not permuted: all are alike." in text
    assert "Contexts were not shuffled: it was not requested." in text
    assert "No calibration was fitted: too few clusters." in text
    assert "ECE" not in text
    text = " ".join(remarks(full(draws=2000, seed=3)))
    assert "2,000 bootstrap draws (seed 3)" in text
    assert "not shuffled" not in text
    assert "ECE" in text


def test_the_headline_counts():
    assert headline(card()) == (
        "100 labelled rows with a score: 40 grounded, 60 not (60.0 %), from 50 independent groups; higher"
        " scores mean grounded."
    )
    assert "lower scores" in headline(card(higher_is_better=False))


@given(TEXTS, TEXTS, TEXTS)
def test_no_text_breaks_the_page(name, value, reason):
    page = card_markdown(
        full(
            name=name,
            signature=name,
            dropped={reason: 1},
            subgroups=(Subgroup(name, value, 1, 1.0, None),),
            baselines=(baseline(name, 0.5, 0.4, 0.6, value),),
        )
    )
    tame = card_markdown(full(subgroups=full().subgroups[:1], baselines=full().baselines[:1]))
    assert len(page.splitlines()) == len(tame.splitlines())
    for shown, wanted in zip(page.splitlines(), tame.splitlines(), strict=True):
        assert len(re.findall(r"(?<!\\)\|", shown)) == len(re.findall(r"(?<!\\)\|", wanted))


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


def test_a_notebook_shows_findings_tables_and_the_chart(made):
    page = replace(made, name="<script>\x1b", warnings=("look for a leak",))._repr_html_()
    assert page.startswith('<div class="sgi-result">')
    assert f"{ROWS} labelled rows with a score: 100 grounded" in page
    assert "Warning: look for a leak" in page
    assert all(html.escape(note) in page for note in made.notes)
    assert page.count("<table>") == len(card_tables(made))
    assert page.count("<img ") == 1
    assert "<script" not in page
    assert "\x1b" not in page
    assert str(made).startswith(f"mine: AUROC {made.ranking.auroc:.3f} over {ROWS} rows")
