"""`--weights`: the same weighted numbers on every screen, from real runs in a real store."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from sgi.api import gate
from sgi.engine.stored_runs import open_run

ROWS = 40
TRAFFIC = [100.0 / (1 + k) for k in range(ROWS)]
CORRECT = {"monday": [k % 3 != 0 for k in range(ROWS)], "friday": [k % 4 != 1 for k in range(ROWS)]}
MEANS = {name: float(np.average(right, weights=TRAFFIC)) for name, right in CORRECT.items()}
SAID = "weighted by the column 'traffic': the 40 rows count as 11.3 rows of equal weight"


@pytest.fixture
def runs(sgi, tmp_path):
    for name, right in CORRECT.items():
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "question", "response", "reference", "traffic", "kind"])
            for k in range(ROWS):
                response = f"Author {k}" if right[k] else "Nobody"
                writer.writerow([f"q{k}", f"Who wrote book {k}?", response, f"Author {k}", TRAFFIC[k], "x"])
        assert sgi("run", f"{name}.csv", "-m", "squad_em", "--name", name, "-q").code == 0


@pytest.mark.usefixtures("runs")
def test_every_screen_shows_the_weighted_mean_and_says_so(sgi, tmp_path):
    summary = sgi("show", "friday", "--weights", "traffic", "--json").json
    (metric,) = summary["summary"]["metrics"]
    assert metric["mean"] == pytest.approx(MEANS["friday"])
    assert summary["summary"]["weighting"]["effective"] == pytest.approx(11.3, abs=0.05)
    shown = f"{100 * MEANS['friday']:.2f} %"
    screens = [
        sgi("show", "friday", "--weights", "traffic").out,
        sgi("show", "friday", "--by", "kind", "--weights", "traffic").out,
        sgi("report", "friday", "--weights", "traffic", "--format", "md").out,
    ]
    compared = sgi("compare", "monday", "friday", "--weights", "traffic", "--allow-different")
    assert all(shown in text and SAID in text for text in (*screens, compared.out + compared.err))
    assert sgi("report", "friday", "--weights", "traffic", "-q").code == 0
    assert shown in (tmp_path / "report.html").read_text("utf-8")
    assert open_run("friday", weights="traffic").summary().metrics[0].mean == pytest.approx(MEANS["friday"])


@pytest.mark.usefixtures("runs")
def test_a_gate_decides_on_the_weighted_interval(sgi):
    (metric,) = sgi("show", "friday", "--weights", "traffic", "--json").json["summary"]["metrics"]
    low = metric["interval"]["low"]
    result = sgi("gate", "friday", f"squad_em>={low - 0.001}", "--weights", "traffic", "--json").json
    assert result["passed"]
    assert result["checks"][0]["bound"] == pytest.approx(low)
    assert any(SAID in note for note in result["notes"])
    assert not gate(open_run("friday", weights="traffic"), f"squad_em>={low + 0.001}").passed


@pytest.mark.usefixtures("runs")
def test_a_comparison_weights_the_difference_of_each_pair(sgi):
    words = ("compare", "monday", "friday", "--weights", "traffic", "--allow-different", "--json")
    (metric,) = sgi(*words).json["metrics"]
    assert metric["difference"]["difference"] == pytest.approx(MEANS["friday"] - MEANS["monday"])
    assert metric["mcnemar"] is None
    refused = sgi("compare", "monday", "friday", "--by", "kind", "--weights", "traffic")
    assert (refused.code, "leaderboard" in refused.err) == (2, True)


@pytest.mark.parametrize("bad", [-1, 0, "many", "NaN", None, True])
def test_a_bad_weight_names_file_line_row_and_column(sgi, tmp_path, bad):
    rows = [{"id": f"q{k}", "question": "q", "response": "a", "reference": "a", "w": 1} for k in range(6)]
    rows[3]["w"] = bad
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert sgi("run", "a.jsonl", "-m", "squad_em", "--name", "a", "-q").code == 0
    result = sgi("gate", "a", "squad_em>=0.1", "--weights", "w")
    assert result.code == 2
    assert "a.jsonl:4: id 'q3': field 'w':" in result.err


@pytest.mark.usefixtures("runs")
def test_an_unknown_column_is_refused(sgi):
    result = sgi("show", "friday", "--weights", "trafic")
    assert (result.code, "Did you mean 'traffic'" in result.err) == (2, True)
