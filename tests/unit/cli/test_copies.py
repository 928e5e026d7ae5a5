"""A real run over answers of which some copy their passage, and the gate on it."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

from sgi import evaluate

HALLUCINATED, COPIES = 56, 4


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Hallucinated answers with an SGI of 0.8 to 0.95 by the embedded model, and copies of their passage."""
    lines = (files("sgi") / "data" / "halueval_qa_sample.jsonl").read_text(encoding="utf-8").splitlines()
    given = map(json.loads, lines)
    rows = [
        {"question": row["question"], "contexts": [row["knowledge"]], "response": row["hallucinated_answer"]}
        for row in given
    ]
    values = evaluate(rows, "sgi(sentences=false)")["sgi"].values
    nearer_the_question = (values >= 0.8) & (values <= 0.95)
    chosen = [rows[row] for row in np.flatnonzero(nearer_the_question)[:HALLUCINATED]]
    others = [rows[row] for row in np.flatnonzero(~nearer_the_question)[:COPIES]]
    copies = [row | {"response": row["contexts"][0]} for row in others]
    assert (len(chosen), len(copies)) == (HALLUCINATED, COPIES)
    place = tmp_path_factory.mktemp("answers") / "answers.jsonl"
    place.write_text("".join(f"{json.dumps(row)}\n" for row in [*chosen, *copies]), encoding="utf-8")
    return place


def test_the_run_says_how_many_responses_are_copies(sgi, answers, tmp_path):
    note = "4 of 60 responses copy a passage verbatim; their SGI is capped at θ(r,c) = 0.01 rad."
    assert note in sgi("run", str(answers), "-m", "sgi", "--name", "copies").err
    assert note in sgi("show", "copies").out
    assert note in sgi("show", "copies", "--json").json["notes"]
    assert sgi("report", "copies", "-o", "report.html").code == 0
    assert note in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert note in str(evaluate(answers, "sgi").summary())
    assert note in sgi("run", "--resume", "copies").err
