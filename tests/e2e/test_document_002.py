"""Document 002's tables by method and question type, from GraphRAG rows, and its formulas on every row."""

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sgi
from sgi.cli.main import app
from support.judge_server import JudgeServer, ServerReply

DATA = Path(__file__).parents[2] / "examples" / "graphrag" / "eight_questions.jsonl"
METHODS = ("local_search", "basic_search", "llm_with_context")
# Correct, wrong, don't know: the document's tables by method and by question type.
BY_METHOD = {"local_search": (6, 2, 0), "basic_search": (6, 2, 0), "llm_with_context": (5, 2, 1)}
BY_TYPE = {
    "Fact Retrieval": (5, 1, 0),
    "Complex Reasoning": (4, 2, 0),
    "Contextual Summarize": (5, 1, 0),
    "Creative Generation": (3, 2, 1),
}
GRADES = {"A": 12, "B": 1, "C": 3, "D": 4, "E": 4}
RAGAS = ("faithfulness", "context_precision", "context_recall", "answer_relevance")
WEIGHTS = dict(zip(RAGAS, (0.3, 0.2, 0.2, 0.3), strict=True))
SHARES = {
    "faithfulness": ("supported", "claims"),
    "context_precision": ("relevant", "passages"),
    "context_recall": ("supported", "claims"),
}
PHRASES = (
    *("i don't know", "i do not know", "unknown", "not sure", "cannot determine", "no information"),
    *("insufficient data", "unable to answer", "cannot answer", "don't have enough information"),
    *("not available", "no data"),
)
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
CORRECT = {row["reference"]: row["query"] for row in ROWS}
PASSAGES = [row["context_data"]["sources"][0]["text"] for row in ROWS[:8]]
QUESTIONS = [row["query"] for row in ROWS[:8]]
# The percentage of each answer, so that the grades are as often as in the document.
PERCENT = {row["response"]: 95 for row in ROWS} | {ROWS[6]["reference"]: 70, ROWS[4]["reference"]: 50}
PERCENT |= {ROWS[7]["reference"]: 30}
OTHERS = [row["response"] for row in ROWS if row["response"] != row["reference"]]
PERCENT |= dict(zip(OTHERS, (10, 50, 30, 30, 10, 10, 10), strict=True))


def judge(asked):
    """Say whether the answer is the reference, and whether the passages have it."""
    schema, answer = json.dumps(asked.body["response_format"]), answer_in(asked.text)
    found = any(passage in asked.text for passage in PASSAGES)
    match asked:
        case _ if '"verdicts"' in schema and '"relevance"' in schema:
            texts = [text for text in asked.text.split("\n") if any(part in text for part in PASSAGES)]
            count = 3 if texts else 1
            said = {"verdicts": [relevance(index, index == count and found) for index in range(1, count + 1)]}
        case _ if '"verdicts"' in schema:
            verdict = {"index": 1, "reason": "It is said.", "supported": int(found)}
            said = {"verdicts": [verdict | {"passage": 1 if found else None}]}
        case _ if '"claims"' in schema:
            said = {"claims": ["The answer is said."]}
        case _ if '"questions"' in schema:
            question = next(each for each in QUESTIONS if CORRECT.get(answer, each) == each)
            said = {"questions": [question] * 3, "reason": "It answers.", "noncommittal": False}
        case _ if '"consistency"' in schema:
            part = {"reasoning": "As expected.", "score": PERCENT[answer]}
            said = dict.fromkeys(("correctness", "completeness", "consistency"), part)
        case _:
            said = {"reasoning": "Compared.", "verdict": "CORRECT" if answer in CORRECT else "WRONG"}
    return ServerReply(json.dumps(said))


def answer_in(text):
    """The answer of a request: another one than the reference, if there is one in it."""
    return next((each for each in [*OTHERS, *CORRECT] if each in text), "")


def relevance(index, is_relevant):
    return {"index": index, "reason": "Read.", "relevance": 98 * is_relevant, "relevant": is_relevant}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("document")
    names = [f"ragas_{name}" for name in (*RAGAS, "score")]
    names += ["factual_accuracy_percentage", "semantic_similarity_percentage", "answer_classification"]
    names += ["correct_answers_count", "wrong_answers_count", "dont_know_answers_count"]
    with JudgeServer(replies=judge) as server:
        words = ["run", str(DATA), "-m", ",".join(names), "--judge", f"openai:m@{server.url}", "-q"]
        result = CliRunner().invoke(app, [*words, "--db", str(folder / "sgi.db"), "--no-cache"])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def board(folder):
    words = ["compare", "last", "--by", "method", "--within", "question_type", "--json"]
    result = CliRunner().invoke(app, [*words, "--db", str(folder / "sgi.db")])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def run(folder):
    return sgi.open_run("last", db=folder / "sgi.db")


def of(parts, name):
    return next(part for part in parts if part["metric"].partition("(")[0] == name)


def counted(counts):
    return tuple(counts.get(name, 0) for name in ("correct", "wrong", "dont_know"))


def test_answers_are_counted_by_method_and_by_question_type(board):
    counts = of(board["classes"], "answer_classification")["counts"]
    assert {method: counted(counts[method]) for method in METHODS} == BY_METHOD
    by_type = {}
    for group in board["groups"]:
        total = Counter()
        for of_method in of(group["classes"], "answer_classification")["counts"].values():
            total.update(of_method)
        by_type[group["name"]] = counted(total)
    assert by_type == BY_TYPE
    shares = [round(100 * part / 24, 1) for part in map(sum, zip(*BY_METHOD.values(), strict=True))]
    assert shares == [70.8, 25.0, 4.2]
    for name, place in (("correct", 0), ("wrong", 1), ("dont_know", 2)):
        means = {
            one["system"]: one["mean"] for one in of(board["metrics"], f"{name}_answers_count")["systems"]
        }
        assert means == {method: parts[place] / 8 for method, parts in BY_METHOD.items()}


def test_grades_are_counted_over_all_results(board):
    total = Counter()
    for grades in of(board["classes"], "factual_accuracy_percentage")["counts"].values():
        total.update(grades)
    assert total == GRADES
    assert [round(100 * count / 24, 1) for count in GRADES.values()] == [50.0, 4.2, 12.5, 16.7, 16.7]


def test_a_method_without_contexts_is_compared_where_it_has_values(board):
    """The document prints N/A for `llm_with_context`, and means of the others."""
    for name in RAGAS[:3]:
        systems = {one["system"]: one for one in of(board["metrics"], f"ragas_{name}")["systems"]}
        assert (systems["llm_with_context"]["mean"], systems["llm_with_context"]["ok"]) == (None, 0)
        assert [systems[method]["ok"] for method in METHODS[:2]] == [8, 8]
        assert systems["local_search"]["mean"] > systems["basic_search"]["mean"] == 0
    composite = {one["system"]: one for one in of(board["metrics"], "ragas_score")["systems"]}
    assert [composite[method]["ok"] for method in METHODS] == [8, 8, 8]
    # Eight questions suffice to tell the two apart; the third has other parts and is not compared.
    assert [composite[method]["letters"] for method in METHODS] == ["a", "b", ""]
    assert any(
        "llm_with_context is not compared, since it has other parts" in note for note in board["notes"]
    )


def test_every_row_has_the_values_of_the_documents_formulas(run):
    assert len(run.ids) == 24
    scores = {name: run[name] for name in run.metrics}
    ragas = {name: scores[f"ragas_{name}"].values for name in RAGAS}
    for row, sample in enumerate(run.samples):
        known = {name: values[row] for name, values in ragas.items() if not math.isnan(values[row])}
        total = sum(WEIGHTS[name] for name in known)
        composite = sum(value * WEIGHTS[name] / total for name, value in known.items())
        assert run["ragas_score"].values[row] == pytest.approx(composite)
        for name, (counted_in, total_in) in SHARES.items() if sample.contexts else ():
            details = run[f"ragas_{name}"].details[row]
            assert known[name] == pytest.approx(100 * details[counted_in] / details[total_in])
        similarities = run["ragas_answer_relevance"].details[row]["similarities"]
        assert known["answer_relevance"] == pytest.approx(100 * max(0, sum(similarities) / 3), abs=0.01)
        percent = run["factual_accuracy_percentage"]
        assert percent.values[row] == pytest.approx(PERCENT[sample.response])
        assert percent.details[row]["grade"] == "EDCBA"[min(4, int(percent.values[row] // 20))]
        answer = sample.response.lower().strip()
        expected = "correct" if sample.response in CORRECT else "wrong"
        expected = "dont_know" if any(phrase in answer for phrase in PHRASES) else expected
        assert run["answer_classification"].details[row]["class"] == expected
        similarity = run["semantic_similarity_percentage"].values[row]
        assert similarity == round(similarity, 2)
        assert (similarity == 100.0) == (sample.response == sample.reference)


def test_each_method_has_its_mean_best_and_worst_score(folder):
    result = CliRunner().invoke(app, ["show", "last", "--by", "method", "--db", str(folder / "sgi.db")])
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["metric", "mean", "best", "worst"] in [line[2:6] for line in lines]
