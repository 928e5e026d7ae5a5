"""The option --cluster: which rows are not independent."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

from sgi import evaluate

NOTE = "30 of 30 rows have the question 'Summarize the document.', with 30 different contexts, and count"


def row(n, **more):
    text = f"Document {n} tells of the year {1900 + n} and of town {n % 7}."
    return {
        "id": f"d{n}",
        "question": "Summarize the document.",
        "contexts": [text],
        "response": f"It tells of {1900 + n}." if n % 3 else text,
        "reference": f"It tells of the year {1900 + n}.",
        "author": f"author {n % 9}",
        **more,
    }


@pytest.fixture
def data(tmp_path):
    place = tmp_path / "summaries.jsonl"
    place.write_text("".join(f"{json.dumps(row(n))}\n" for n in range(30)))
    return place


def run(sgi, *words, name="run"):
    return sgi("run", "summaries.jsonl", "-m", "rouge_l", "--name", name, *words)


def test_one_question_over_thirty_documents_has_no_interval_and_says_why(sgi, data):
    result = run(sgi)
    assert NOTE in result.err
    assert "cluster them by contexts" in result.err
    assert NOTE in sgi("show", "run").out
    facts = sgi("show", "run", "--json").json["summary"]
    assert (facts["questions"], facts["metrics"][0]["interval"]) == (1, None)
    assert facts["clustering"]["dominant"]["rows"] == 30
    gated = sgi("gate", "run", "rouge_l>=0.1")
    assert (gated.code, NOTE in gated.err) == (4, True)
    assert sgi("report", "run", "-o", "run.md").code == 0
    assert "30 of 30 rows have the question" in data.with_name("run.md").read_text()


@pytest.mark.parametrize(("by", "clusters"), [("contexts", 30), ("row", 30), ("author", 9)])
def test_a_run_is_clustered_as_requested(sgi, data, by, clusters):
    facts = run(sgi, "--cluster", by, "--json", "-q").json
    assert (facts["questions"], facts["clustering"]["by"]) == (clusters, by)
    (metric,) = facts["metrics"]
    assert metric["interval"]["low"] < metric["mean"] < metric["interval"]["high"]
    assert sgi("gate", "run", "rouge_l>=0.1").code == 0


def test_a_toml_file_names_the_rule(sgi, data, tmp_path):
    text = 'data = "summaries.jsonl"\nmetrics = "rouge_l"\nname = "run"\ncluster = "author"\n'
    (tmp_path / "run.toml").write_text(text)
    assert sgi("run", "run.toml", "--json", "-q").json["questions"] == 9
    assert 'cluster = "author"' in sgi("show", "run", "--spec").out


def test_runs_with_different_rules_are_compared_by_one_rule_or_that_of_the_first(sgi, data):
    run(sgi, "--cluster", "author", name="authors")
    run(sgi, name="questions")
    result = sgi("compare", "authors", "questions")
    assert (result.code, "clustering: author" in result.err) == (2, True)
    result = sgi("compare", "authors", "questions", "--allow-different")
    assert result.code == 0
    assert "clustering: author → question" in result.err
    assert "rows with the same 'author' as one cluster" in result.err
    result = sgi("compare", "authors", "questions", "--cluster", "contexts", "--json")
    assert result.json["metrics"][0]["difference"]["clusters"] == 30
    assert "Different" not in result.err


def test_rows_without_the_column_are_clusters_of_their_own_and_are_counted(sgi, tmp_path):
    rows = [row(n) if n else {k: v for k, v in row(n).items() if k != "author"} for n in range(30)]
    (tmp_path / "summaries.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    result = run(sgi, "--cluster", "author")
    note = "1 of 30 rows has no value in the column 'author'; such a row is a cluster of its own."
    assert note in result.err
    assert note in sgi("show", "run").out
    assert sgi("show", "run", "--json").json["summary"]["questions"] == 10


def test_python_takes_the_rule_too(data):
    assert evaluate(data, "rouge_l").summary().clustering.dominant.rows == 30
    result = evaluate(data, "rouge_l", cluster="author")
    assert result.summary().questions == 9
    assert len(set(result.clusters.tolist())) == 9
    assert result.clustering.by == "author"


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
    note = "4 of 60 responses copy a passage verbatim, where SGI is capped at θ(r,c) = 0.01 rad."
    assert note in sgi("run", str(answers), "-m", "sgi", "--name", "copies").err
    assert note in sgi("show", "copies").out
    assert note in sgi("show", "copies", "--json").json["notes"]
    assert sgi("report", "copies", "-o", "report.html").code == 0
    assert note in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert note in str(evaluate(answers, "sgi").summary())
    assert note in sgi("run", "--resume", "copies").err
