"""Runs that keep no texts: nothing of the data's texts reaches a file, and later commands still work."""

import json
import math
import re

import pytest

from sgi.engine import pipeline
from sgi.engine.plan import batches
from sgi.engine.stored_runs import read_run
from sgi.kernel.signature import is_placeholder
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.store.stored_batches import stored_batches
from support.command import sgi
from support.judge_server import JudgeServer, ServerReply, error_reply
from support.kept_runs import write_rows
from support.runs import contents

ROWS, BATCH = 60, 44  # the second batch is short
METRICS = "grounding,sgi,semantic_similarity,lexical_aggregate,answer_classification,faithfulness"
SECRETS = (
    *("zebrafish", "quokkaish", "walrusine", "heronesque", "ibexward", "marmotlike", "pumaesque"),
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
    if "number 7 is red" in str(asked.body):
        return ServerReply("I saw a walrusine bridge, not JSON")
    if "number 9 is red" in str(asked.body):
        return error_reply(400, "cannot judge the walrusine bridge")
    if '"reasoning"' in schema:
        return ServerReply(json.dumps({"reasoning": "It is quokkaish.", "verdict": "CORRECT"}))
    if '"claims"' in schema:
        return ServerReply(json.dumps({"claims": ["The walrusine bridge is red."]}))
    verdict = {"index": 1, "reason": "quokkaish, as it says", "supported": 1, "passage": 1}
    return ServerReply(json.dumps({"verdicts": [verdict]}))


@pytest.fixture(scope="module", autouse=True)
def _small_batches():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "BATCH_SIZE", BATCH)
        patch.setattr(batches, "__defaults__", (BATCH,))  # the plan reads the data in the same batches
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One data set scored with its texts and without, by the same judge, into different databases."""
    folder = tmp_path_factory.mktemp("no-texts")
    write_rows(folder / "rows.jsonl", rows())
    with JudgeServer(replies=reply) as server:
        words = ["run", "rows.jsonl", "-m", METRICS, "--judge", f"openai:m@{server.url}", "-q", "--json"]
        words += ["--max-failures", "5%"]
        for name, more in (("texts", ()), ("private", ("--no-texts",))):
            own = {"SGI_CACHE_DIR": str(folder / f"cache-{name}")}
            place = ("--db", f"{name}.db", "--name", name, "--cache", f"{name}.cache")
            result = sgi(folder, *words, *place, *more, **own)
            assert result.code == 3, result.err
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
    assert not [*(runs / "cache-private").glob("*")]
    assert "private.replies.cache" not in {path.name for path in written}
    assert not set().union(*map(quoted, written))


def test_scores_intervals_and_clusters_are_those_of_a_run_with_texts(runs):
    found = {}
    for name in ("texts", "private"):
        with open_database(runs / f"{name}.db") as database:
            record = find_run(database, name)
            run = read_run(database, record)
            found[name] = (record, run, list(stored_batches(database, record)), contents(database))
    (_, with_texts, stored, _), (record, without, redacted, tables) = found["texts"], found["private"]
    assert without.ids == with_texts.ids
    assert without.clusters.tolist() == with_texts.clusters.tolist()
    for name, column in with_texts.metrics.items():
        assert without.metrics[name].values.tobytes() == column.values.tobytes()
        assert without.metrics[name].codes.tobytes() == column.codes.tobytes()
    assert without.metrics["faithfulness"].counts()["failed"] == 2
    assert found["texts"][0].summary == {**record.summary}
    assert tables["evidence"] == []
    assert found["texts"][3]["samples"][0][0] != tables["samples"][0][0]  # another data set
    sample, real = redacted[0].batch.samples[1], stored[0].batch.samples[1]
    assert sample == real.with_placeholders()
    assert sample.metadata["number"] == 1
    assert is_placeholder(sample.metadata["kind"])
    classes = [body.get("class") for body in redacted[0].scores["answer_classification"].details]
    assert classes == [body.get("class") for body in stored[0].scores["answer_classification"].details]
    assert not math.isnan(redacted[0].scores["sgi"].details[0]["theta_rq"])


def test_comparisons_with_a_run_with_texts_pair_all_rows(runs):
    sgi(runs, "runs", "db", "export", "private.jsonl", "--db", "private.db")
    sgi(runs, "runs", "db", "export", "texts.jsonl", "--db", "texts.db")
    both = ("--db", "both.db")
    for name in ("private", "texts"):
        assert sgi(runs, "runs", "db", "import", f"{name}.jsonl", *both).code == 0
    (runs / "texts.jsonl").unlink()
    result = sgi(runs, "compare", "texts", "private", "--json", *both)
    assert result.code == 0, result.err
    assert result.json["pairs"] == ROWS
    assert {entry["difference"]["difference"] for entry in result.json["metrics"]} == {0.0}
    write_rows(runs / "other.jsonl", rows("A blue bridge, number {k}."))
    sgi(runs, "run", "other.jsonl", "-m", "sgi", "-q", "--name", "other", *both)
    result = sgi(runs, "compare", "private", "other", "-m", "sgi", "--json", *both)
    assert result.code == 0, result.err
    assert result.json["pairs"] == ROWS


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("study card private -m sgi", "A detector card needs the texts, but the run private stores none"),
        ("judge calibrate private -m sgi --error-rate fpr=0.05", "stores none"),
        ("judge agree private -m sgi --label kind", "the label is a text, and the run stores no texts"),
        ("runs export private --inputs", "--inputs needs the texts"),
        ("judge rescore private", "Rescoring needs the texts"),
        ("run --resume private --inputs -o again.jsonl", "--inputs needs the texts"),
    ],
)
def test_what_needs_the_texts_says_so(runs, command, said):
    result = sgi(runs, *command.split(), "--db", "private.db")
    assert result.code == 2
    assert said in " ".join(result.err.split())


@pytest.mark.parametrize(
    "command",
    [
        *("show private", "show private --sample r3", "show private --worst 3", "show private --by kind"),
        *("show private --cluster kind", "gate private sgi>=0.1"),
        *("gate private answer_classification>=0.1", "judge agree private -m sgi", "runs export private"),
        *("report private -o page.html", "report private -o page.md"),
    ],
)
def test_what_needs_no_texts_works_and_shows_none(runs, command):
    result = sgi(runs, *command.split(), "--db", "private.db")
    assert result.code == 0, result.err
    for page in runs.glob("page.*"):
        assert not quoted(page)
        assert b"(text not kept)" in page.read_bytes()
        page.unlink()
    assert not [piece for piece in PIECES if piece in result.out]


def test_the_run_is_marked(runs):
    assert "texts     not stored" in sgi(runs, "show", "private", "--db", "private.db").out
    shown = {
        name: sgi(runs, "show", name, "--json", "--db", f"{name}.db").json for name in ("texts", "private")
    }
    assert [shown[name]["run"]["no_texts"] for name in shown] == [False, True]


@pytest.mark.slow
def test_an_interrupted_run_resumes_and_stores_no_texts(runs):
    mended = []

    def failing(asked):
        number = int(re.search("number ([0-9]+) is red", str(asked.body))[1])
        late = number >= BATCH
        return ServerReply("No JSON of a walrusine bridge.") if late and not mended else reply(asked)

    place = ("--db", "resumed.db", "--cache", "resumed.cache", "-q", "--json")
    with JudgeServer(replies=failing) as server:
        judge = f"openai:m@{server.url}"
        stopped = sgi(runs, "run", "rows.jsonl", "-m", METRICS, "--judge", judge, "--no-texts", *place)
        with open_database(runs / "resumed.db") as begun:
            stopped_because = find_run(begun, "last").stopped
        mended.append(True)
        server.requests.clear()
        refused = sgi(runs, "run", "rows.jsonl", "--resume", "last", "-m", "sgi", *place)
        result = sgi(runs, "run", "--resume", "last", "--judge", judge, "-o", "resumed.csv", *place)
        asked = len(server.requests)
        retried = sgi(runs, "run", "--resume", "last", "--judge", judge, "--retry-failed", *place)
    assert stopped.code == 2
    assert stopped_because == "JudgeError; the reason is not kept, since it can quote texts"
    assert refused.code == 2
    assert result.code == 3, result.err
    assert asked <= 3 * (ROWS - BATCH)
    assert retried.code == 3, retried.err
    with open_database(runs / "resumed.db") as again, open_database(runs / "private.db") as whole:
        first, second = find_run(again, "last"), find_run(whole, "private")
        assert (first.dataset, first.summary["metrics"]) == (second.dataset, second.summary["metrics"])
        assert first.summary["baselines"] == second.summary["baselines"]  # of lengths and words of the texts
        assert contents(again)["samples"] == contents(whole)["samples"]
    (runs / "resumed.csv").unlink()  # was asked for, and has the further columns as they are
    assert not set().union(*map(quoted, files_of(runs, "resumed")))


def test_a_run_resumes_with_its_settings(runs):
    result = sgi(runs, "run", "--resume", "texts", "--no-texts", "--db", "texts.db")
    assert result.code == 2
    assert "stores its texts" in result.err
    result = sgi(
        runs, "run", "rows.jsonl", "-m", "sgi", "--no-texts", "--target", "app:answer", "--db", "t.db"
    )
    assert result.code == 2
    assert "--no-texts cannot be combined with --target" in result.err
    assert not (runs / "t.db").exists()


def test_postgresql_gets_no_texts_either(runs, postgres_url):
    result = sgi(runs, "run", "rows.jsonl", "-m", "grounding", "--no-texts", "-q", "--db", postgres_url)
    assert result.code == 0, result.err
    with open_database(postgres_url) as database:
        held = repr(contents(database)).lower()
    assert not [piece for piece in PIECES if piece in held]


def test_a_run_on_ray_is_refused(runs):
    result = sgi(runs, "run", "rows.jsonl", "-m", "sgi", "--no-texts", "--ray", "local", "-o", "parts")
    assert result.code == 2
    assert "does not support --no-texts" in result.err
