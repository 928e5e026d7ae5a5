"""Runs that keep no texts: nothing of the data's texts reaches a file, and later commands still work."""

from __future__ import annotations

import json
import math

import pytest

from sgi.kernel.placeholders import is_placeholder
from sgi.store.database import open_database
from sgi.store.queries import find_run
from sgi.store.run_rows import scored_run, stored_batches
from support.command import sgi
from support.judge_server import JudgeServer, Says, fails
from support.kept_runs import write_rows
from support.runs import contents

ROWS = 300
METRICS = "grounding,sgi,semantic_similarity,lexical_aggregate,answer_classification,faithfulness"
SECRETS = (
    "zebrafish",
    "quokkaish",
    "walrusine",
    "heronesque",
    "ibexward",
    "marmotlike",
    "pumaesque",
    "otterwise",
)
PIECES = {word[k : k + 8] for word in SECRETS for k in range(len(word) - 7)}


def rows(answer="walrusine bridge number {k} is red."):
    return [
        {
            "id": f"r{k}",
            "question": f"Which zebrafish bridge is number {k // 2}?",
            "contexts": [f"The quokkaish bridge number {k} is red.", f"Fog was heronesque on day {k}."],
            "response": answer.format(k=k),
            "reference": f"The ibexward bridge number {k}.",
            "alternatives": [f"Bridge {k}, marmotlike."],
            "label": k % 2 == 0,
            "kind": ("pumaesque", "plain")[k % 2],
            "number": k,
            "notes": {"otterwise": ["a pumaesque day", k]},
        }
        for k in range(ROWS)
    ]


def reply(asked):
    """Claims and verdicts that quote the texts; no JSON for some rows, an error that quotes for others."""
    schema = json.dumps(asked.body.get("response_format"))
    if "number 7 is red" in asked.text:
        return Says("I saw a walrusine bridge, not JSON")
    if "number 9 is red" in asked.text:
        return fails(400, "cannot judge the walrusine bridge")
    if '"reasoning"' in schema:
        return Says(json.dumps({"reasoning": "It is quokkaish.", "verdict": "CORRECT"}))
    if '"claims"' in schema:
        return Says(json.dumps({"claims": ["The walrusine bridge is red."]}))
    verdict = {"index": 1, "reason": "quokkaish, as it says", "supported": 1, "passage": 1}
    return Says(json.dumps({"verdicts": [verdict]}))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One data set scored with its texts and without, by the same judge, into different databases."""
    folder = tmp_path_factory.mktemp("no-texts")
    write_rows(folder / "rows.jsonl", rows())
    with JudgeServer(replies=reply) as server:
        words = ["run", "rows.jsonl", "-m", METRICS, "--judge", f"openai:m@{server.url}", "-q", "--json"]
        words += ["--max-failures", "5%"]
        for name, more in (("texts", ()), ("private", ("--no-texts",))):
            done = sgi(
                folder, *words, "--db", f"{name}.db", "--name", name, "--cache", f"{name}.cache", *more
            )
            assert done.code == 3, done.err
    return folder


def files_of(folder, name):
    """Everything a run wrote, its data file and those of the run with texts left out."""
    return [path for path in folder.iterdir() if path.name.startswith(name)]


def quoted(path):
    """The pieces of the distinctive words that a file holds, in any case."""
    held = path.read_bytes().lower()
    return {piece for piece in PIECES if piece.encode() in held or piece.encode("utf-16-le") in held}


def test_no_piece_of_a_text_is_in_any_file_of_the_run(runs):
    assert quoted(runs / "texts.db") == PIECES
    assert quoted(runs / "texts.replies.cache") & PIECES
    written = files_of(runs, "private")
    assert "private.db" in {path.name for path in written}
    assert "private.replies.cache" not in {path.name for path in written}
    assert {path.name: quoted(path) for path in written} == {path.name: set() for path in written}


def test_scores_intervals_and_clusters_are_those_of_a_run_with_texts(runs):
    found = {}
    for name in ("texts", "private"):
        with open_database(runs / f"{name}.db") as database:
            record = find_run(database, name)
            run = scored_run(database, record)
            found[name] = (record, run, list(stored_batches(database, record)), contents(database))
    (_, with_texts, batches, _), (record, without, redacted, tables) = found["texts"], found["private"]
    assert without.ids == with_texts.ids
    assert without.clusters.tolist() == with_texts.clusters.tolist()
    for name, column in with_texts.metrics.items():
        assert without.metrics[name].values.tobytes() == column.values.tobytes()
        assert without.metrics[name].codes.tobytes() == column.codes.tobytes()
    assert found["texts"][0].summary == {**record.summary}
    assert tables["evidence"] == []
    assert found["texts"][3]["samples"][0][0] != tables["samples"][0][0]  # another data set
    sample, real = redacted[0].batch.samples[1], batches[0].batch.samples[1]
    assert sample == real.with_placeholders()
    assert sample.metadata["number"] == 1
    assert is_placeholder(sample.metadata["kind"])
    classes = [body.get("class") for body in redacted[0].scores["answer_classification"].details]
    assert classes == [body.get("class") for body in batches[0].scores["answer_classification"].details]
    assert not math.isnan(redacted[0].scores["sgi"].details[0]["theta_rq"])


def test_comparisons_with_a_run_with_texts_pair_all_rows(runs):
    sgi(runs, "db", "export", "private.jsonl", "--db", "private.db")
    sgi(runs, "db", "export", "texts.jsonl", "--db", "texts.db")
    both = ("--db", "both.db")
    for name in ("private", "texts"):
        assert sgi(runs, "db", "import", f"{name}.jsonl", *both).code == 0
    (runs / "texts.jsonl").unlink()
    done = sgi(runs, "compare", "texts", "private", "--json", *both)
    assert done.code == 0, done.err
    assert done.json["pairs"] == ROWS
    assert {made["difference"]["difference"] for made in done.json["metrics"]} == {0.0}
    write_rows(runs / "other.jsonl", rows("A blue bridge, number {k}."))
    sgi(runs, "run", "other.jsonl", "-m", "sgi", "-q", "--name", "other", *both)
    done = sgi(runs, "compare", "private", "other", "-m", "sgi", "--json", *both)
    assert done.code == 0, done.err
    assert done.json["pairs"] == ROWS
