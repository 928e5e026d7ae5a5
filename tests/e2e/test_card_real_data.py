"""Detector cards of SGI on labelled data, through the commands a person types."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def sgi(*words, cwd):
    command = [sys.executable, "-m", "sgi", *map(str, words)]
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def card(data, cwd):
    sgi("run", data, "-m", "sgi", "-q", cwd=cwd)
    facts = json.loads(sgi("study", "card", "last", "-m", "sgi", "--json", "-q", "-o", "card", cwd=cwd))
    return facts, (cwd / "card" / "card.md").read_text("utf-8")


def test_on_halueval_length_beats_sgi_and_sgi_keeps_what_length_does_not_explain(data_folder, tmp_path):
    facts, page = card(data_folder / "halueval_qa.jsonl", tmp_path)
    auroc = {entry["name"]: entry["ranking"]["auroc"] for entry in facts["baselines"]}
    assert facts["ranking"]["auroc"] == pytest.approx(0.80, abs=0.01)
    assert auroc["length"] == pytest.approx(0.97, abs=0.01)
    assert auroc["verbatim"] == pytest.approx(0.975, abs=0.01)
    assert auroc["cos(r,q)"] == pytest.approx(0.923, abs=0.01)
    assert auroc["cos(r,c)"] == pytest.approx(0.244, abs=0.01)
    assert "Length alone ranks better (AUROC 0.97 against 0.80; shorter = grounded)." in page
    matched = facts["length_matched"]
    assert matched["width"] == 0
    assert matched["pairs"] > 300
    assert matched["ranking"]["auroc"] == pytest.approx(0.77, abs=0.03)
    assert matched["baselines"][0]["ranking"]["auroc"] == 0.5
    # Without the right contexts θ(r,q) is left: better on all rows, where it goes by length, worse on these.
    assert (
        facts["shuffled"]["difference"]["interval"]["high"]
        < 0
        < matched["shuffled"]["difference"]["interval"]["low"]
    )
    assert facts["permuted"]["auroc"] == pytest.approx(0.5, abs=0.02)
    assert facts["warnings"] == []


def test_on_ragtruth_sgi_is_near_chance_and_the_card_says_so(data_folder, tmp_path):
    facts, page = card(data_folder / "ragtruth_qa_test.jsonl", tmp_path)
    assert facts["rows"] == 306
    assert facts["ranking"]["interval"]["low"] < 0.5 < facts["ranking"]["interval"]["high"]
    assert "\n- Near chance on these rows: AUROC 0.58" in page
    assert "The probabilities (platt) are not shown to be better than the constant base rate." in page
    assert {group["column"] for group in facts["subgroups"]} >= {"model", "length"}
