"""A real language model judges real rows by every judged metric, over HTTP, by the command."""

import json
from collections import Counter
from importlib.resources import files

import pytest

from sgi.kernel.judged_metric import CACHED_REPLY
from support import command
from support.injections import JUDGED
from support.local_llm import NAME, local_llm

pytestmark = pytest.mark.slow

FINISHED = {0, 3}  # 3: some rows have failed
WITHOUT_VALUE = {"undefined", "missing", "failed"}


@pytest.fixture(scope="module")
def model():
    with local_llm() as url:
        yield url


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The shortest real row of the bundled sample, and one without passages and without an answer."""
    result = tmp_path_factory.mktemp("local_model")
    sample = (files("sgi") / "data" / "halueval_qa_sample.jsonl").read_text(encoding="utf-8")
    real = json.loads(min(sample.splitlines(), key=len))
    rows = [
        {
            "id": "real",
            "question": real["question"],
            "contexts": [real["knowledge"]],
            "response": real["right_answer"],
            "reference": real["right_answer"],
            "turns": [{"role": "user", "text": "Hello."}, {"role": "assistant", "text": "Good morning."}],
        },
        {"id": "no passage", "question": "Who?", "contexts": [], "response": "", "reference": "Mira Oduya."},
    ]
    (result / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return result


def sgi(folder, *words):
    settings = {"SGI_CACHE_DIR": str(folder / "cache"), "NO_PROXY": "127.0.0.1"}
    result = command.sgi(folder, *words, **settings)
    assert result.code in FINISHED, result.err
    return result.out


def run(folder, url, *words):
    metrics = ("-m", ",".join(JUDGED))
    judge = ("--judge", f"openai:{NAME}@{url}", "--judge-set", "max_tokens=48", "--judge-concurrency", "4")
    slow = ("--judge-timeout", "600", "--max-failures", "100%")
    return json.loads(sgi(folder, "run", "rows.jsonl", *metrics, *judge, *slow, "-q", "--json", *words))


@pytest.fixture(scope="module")
def first(folder, model):
    return run(folder, model, "--name", "first", "-o", "first.jsonl")


def scores(folder, name):
    """The scores by row, without the note whether a reply behind a failure came from the cache."""
    lines = (folder / name).read_text(encoding="utf-8").splitlines()
    kept = {row["id"]: row["scores"] for row in map(json.loads, lines)}
    for score in (score for row in kept.values() for score in row.values()):
        score.get("details", {}).pop(CACHED_REPLY, None)
    return kept


def test_every_judged_metric_gives_each_row_a_value_or_a_reason(folder, first):
    kept = scores(folder, "first.jsonl")
    assert set(kept) == {"real", "no passage"}
    for row in kept.values():
        assert set(row) == set(JUDGED)
        for name, score in row.items():
            if score["status"] == "ok":
                assert JUDGED[name].spec.low <= score["value"] <= JUDGED[name].spec.high
            else:
                assert score["status"] in WITHOUT_VALUE
                assert score["value"] is None
                assert score["reason"]
    assert any(score["status"] == "ok" for score in kept["real"].values())


def test_every_row_is_accounted_for(folder, first):
    kept = scores(folder, "first.jsonl")
    assert [entry["metric"] for entry in first["metrics"]] == list(JUDGED)
    for entry in first["metrics"]:
        statuses = Counter(row[entry["metric"]]["status"] for row in kept.values())
        assert Counter(entry["counts"]) == statuses
        assert entry["coverage"] == statuses["ok"] / len(kept)


def usage(folder, name):
    (used,) = json.loads(sgi(folder, "show", name, "--json"))["usage"].values()
    return used


def test_usage_is_counted_stored_and_shown(folder, first):
    assert first
    used = usage(folder, "first")
    assert used["calls"] > 0
    assert used["input_tokens"] > used["output_tokens"] > 0
    assert f"Judge requests: {used['calls']}" in sgi(folder, "show", "first")


def test_the_evidence_of_a_row_is_shown(folder, first):
    facts = json.loads(sgi(folder, "show", "first", "--sample", "real", "--json"))["scores"]
    result = sgi(folder, "show", "first", "--sample", "real")
    for name, score in facts.items():
        assert name in result
        if score["status"] == "ok":
            assert score["evidence"]
        else:
            assert score["reason"]
    assert "evidence" in result


def test_another_look_at_the_evidence_gives_the_same_values_without_the_model(folder, first):
    again = json.loads(sgi(folder, "judge", "rescore", "first", "--name", "again", "--json", "-q"))
    assert values(again) == values(first)
    assert json.loads(sgi(folder, "show", "again", "--json"))["usage"] == {}


def values(summary):
    return {metric["metric"]: (metric["mean"], metric["ok"]) for metric in summary["metrics"]}


def test_a_duel_counts_every_pair(folder, model):
    answers = {"short": "In Paris.", "long": "I think that it may be somewhere in Paris, or in France."}
    lines = (
        json.dumps(
            {"id": f"{number}{name}", "question": f"Where is tower {number}?", "response": text, "by": name}
        )
        for number in range(2)
        for name, text in answers.items()
    )
    (folder / "duel.jsonl").write_text("\n".join(lines), encoding="utf-8")
    sgi(folder, "run", "duel.jsonl", "-m", "theta_rq", "--name", "duel", "-q")
    judge = ("--judge", f"openai:{NAME}@{model}", "--judge-set", "max_tokens=48", "--judge-timeout", "600")
    result = json.loads(sgi(folder, "judge", "duel", "duel", "--by", "by", *judge, "--json", "-q"))
    (pair,) = result["criteria"][0]["pairs"]
    assert sum(pair["counts"].values()) == 2
    assert result["usage"]["calls"] >= 4


def test_a_second_run_asks_nothing_and_says_the_same(folder, model, first):
    assert first
    run(folder, model, "--name", "second", "-o", "second.jsonl")
    used = usage(folder, "second")
    assert used["calls"] == used["output_tokens"] == 0
    assert used["cached"] > 0
    assert scores(folder, "second.jsonl") == scores(folder, "first.jsonl")


def test_repeated_judgements_of_a_sampling_model_are_rows_of_their_own(folder, model):
    judge = ("--judge", f"openai:{NAME}@{model}", "--judge-set", "max_tokens=48")
    judge += ("--judge-set", "temperature=1.5")
    words = ("-m", "groundedness", "--repeat-judge", "4", "--judge-timeout", "600", "--max-failures", "100%")
    sgi(folder, "run", "rows.jsonl", *judge, *words, "--name", "judged", "-o", "judged.jsonl", "-q")
    rows = scores(folder, "judged.jsonl")
    assert [name for name in rows if name.startswith("real")] == [f"real~{number}" for number in (1, 2, 3, 4)]
    assert usage(folder, "judged")["calls"] >= 4
    outcomes = {json.dumps(rows[f"real~{number}"], sort_keys=True) for number in (1, 2, 3, 4)}
    assert len(outcomes) > 1


def test_a_quiz_is_checked_once_and_every_question_is_accounted_for(folder, model):
    pytest.importorskip("spacy")
    text = (
        "The ferry Anke was launched in 1950. Greta Holm designed the ferry Anke. Oskar Lind lived in Bergen."
    )
    (folder / "ferries.md").write_text(text, encoding="utf-8")
    judge = ("--judge", f"openai:{NAME}@{model}", "--judge-set", "max_tokens=200", "--judge-timeout", "600")
    made = [
        json.loads(sgi(folder, "quiz", "ferries.md", "-n", "6", "-o", f"{name}.jsonl", *judge, "--json"))
        for name in ("quiz", "again")
    ]
    first, second = (result["judge"] for result in made)
    rows = [json.loads(line) for line in (folder / "quiz.jsonl").read_text(encoding="utf-8").splitlines()]
    assert first["calls"] > 0
    assert second["calls"] == 0
    assert (folder / "again.jsonl").read_bytes() == (folder / "quiz.jsonl").read_bytes()
    assert len(rows) == made[0]["questions"]
    unchecked = sum(first["unchecked"].values())
    assert sum("checked_by" not in row for row in rows) == unchecked
    assert first["checked"] + unchecked <= len(rows) + sum(first["left_out"].values())
    assert sum("generated_question" in row for row in rows) == first["rephrased"]
