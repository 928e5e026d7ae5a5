"""Document 002's tables, from the same evidence: its names, its scales, its conventions, by method."""

import json

import pytest
from typer.testing import CliRunner

from sgi.cli.main import app
from support.judge_server import JudgeServer, ServerReply

QUESTION = "Which plant is also known by another common name, and what is that name?"
# Classes by method as the document's table has them: correct, wrong, don't know.
CLASSES = {"local_search": (6, 2, 0), "basic_search": (6, 2, 0), "llm_with_context": (5, 2, 1)}


def rows():
    for method, (correct, wrong, unknown) in CLASSES.items():
        answers = ["Cornish heath"] * correct + ["Heather"] * wrong + ["I don't know."] * unknown
        for number, answer in enumerate(answers):
            row = {"id": f"{method}-{number}", "question": QUESTION, "response": answer, "method": method}
            row["reference"] = "Cornish heath"
            if method != "llm_with_context":
                row["contexts"] = ["the lovely Cornish heath" if method == "local_search" else "THE END."]
            yield row


def judge(asked):
    """Says what the document's own example says."""
    schema = json.dumps(asked.body["response_format"])
    found = "lovely" in asked.text
    match asked:
        case _ if '"verdicts"' in schema and '"relevance"' in schema:
            verdict = {
                "index": 1,
                "reason": "It names it.",
                "relevance": 98 if found else 5,
                "relevant": found,
            }
            said = {"verdicts": [verdict]}
        case _ if '"verdicts"' in schema:
            verdict = {"index": 1, "reason": "It is said.", "supported": int(found)}
            said = {"verdicts": [verdict | {"passage": 1 if found else None}]}
        case _ if '"claims"' in schema:
            said = {"claims": ["Cornish heath is the name."]}
        case _ if '"questions"' in schema:
            said = {"questions": [QUESTION] * 3, "reason": "It answers.", "noncommittal": False}
        case _:
            right = asked.text.count("Cornish heath") > 1
            said = {
                "reasoning": "As expected." if right else "Another.",
                "verdict": "CORRECT" if right else "WRONG",
            }
    return ServerReply(json.dumps(said))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("document")
    data = folder / "rows.jsonl"
    data.write_text("\n".join(json.dumps(row) for row in rows()))
    names = (
        "ragas_faithfulness,ragas_context_precision,ragas_context_recall,ragas_answer_relevance,ragas_score"
    )
    counts = "correct_answers_count,wrong_answers_count,dont_know_answers_count,answer_classification"
    place = ["--db", str(folder / "sgi.db")]
    with JudgeServer(replies=judge) as server:
        words = [
            "run",
            str(data),
            "-m",
            names,
            "-m",
            counts,
            "--judge",
            f"openai:m@{server.url}",
            "-q",
            "--json",
        ]
        cache = ["--cache", str(folder / "vectors.db")]
        run = CliRunner().invoke(app, [*words, *place, *cache])
    assert run.exit_code == 0, run.output
    table = CliRunner().invoke(app, ["show", "last", "--by", "method", "--json", *place])
    text = CliRunner().invoke(app, ["show", "last", "--by", "method", *place])
    return (
        json.loads(run.stdout),
        {group["name"]: group for group in json.loads(table.stdout)["groups"]},
        text.stdout,
    )


def means(group):
    return {entry["metric"]: entry for entry in group["metrics"]}


def test_scores_by_method_are_those_of_the_table(shown):
    _, groups, _ = shown
    local, basic, alone = (means(groups[method]) for method in CLASSES)
    assert local["ragas_faithfulness"]["mean"] == local["ragas_context_recall"]["mean"] == 100.0
    assert local["ragas_context_precision"]["mean"] == 100.0
    for name in ("ragas_faithfulness", "ragas_context_precision", "ragas_context_recall"):
        assert basic[name]["mean"] == 0.0
        assert alone[name]["mean"] is None  # no contexts: nothing to be said, where the document prints N/A
        assert alone[name]["counts"]["missing"] == 8
    assert alone["ragas_answer_relevance"]["mean"] == pytest.approx(100.0)
    # Zero, zero, zero and a relevance of 1: the relevance's weight is all there is.
    assert basic["ragas_score"]["mean"] == pytest.approx(30.0)
    assert alone["ragas_score"]["mean"] == pytest.approx(100.0)  # renormalised over the part there is


def test_each_method_has_its_mean_best_and_worst_score(shown):
    _, groups, text = shown
    basic = means(groups["basic_search"])["ragas_score"]
    assert (basic["mean"], basic["best"], basic["worst"]) == pytest.approx((30.0, 30.0, 30.0))
    assert ["metric", "mean", "best", "worst"] in [line.split()[2:6] for line in text.splitlines()]
    assert "30.00 % 30.00 % 30.00 %" in " ".join(text.split())


def test_answers_are_counted_by_method_and_in_all(shown):
    run, groups, text = shown
    names = ("correct_answers_count", "wrong_answers_count", "dont_know_answers_count")
    for method, counted in CLASSES.items():
        found = means(groups[method])
        assert tuple(found[name]["total"] for name in names) == counted
        classes = found["answer_classification"]["classes"]
        assert tuple(classes.get(name, 0) for name in ("correct", "wrong", "dont_know")) == counted
    whole = {entry["metric"]: entry for entry in run["metrics"]}
    assert tuple(whole[name]["total"] for name in names) == (17, 6, 1)
    assert whole["answer_classification"]["mean"] == pytest.approx(17 / 24)  # the document's 70.8 %
    assert list(whole["answer_classification"]["classes"].items()) == [
        ("correct", 17),
        ("wrong", 6),
        ("dont_know", 1),
    ]
    shares = whole["answer_classification"]["class_shares"]
    assert [round(share, 3) for share in shares.values()] == [0.708, 0.25, 0.042]
    assert "basic_search 6 (75.0 %) 2 (25.0 %) 0" in " ".join(text.split())
    assert "100.00 %" in text
