"""A cascade by the command: real scores, a real server that counts what the judge is asked."""

import json
import re

import pytest

from sgi.reporting.views.headline import headline, headline_notes
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support import command
from support.judge_server import JudgeServer, ServerReply

ALPHA = "alpha=0.05"
CLAIMS = json.dumps({"claims": ["It is so."]})
VERDICT = {"index": 1, "reason": "It is said.", "supported": 1, "passage": 1}


def supported(number, label):
    return {
        "id": f"s{number}",
        "question": f"When was ship number {number} launched?",
        "contexts": [
            f"The yard at Tolvik launched ship number {number} in {1900 + number}. It carried salt.",
            "Lake Serrin freezes in most winters.",
        ],
        "response": f"The yard at Tolvik launched ship number {number} in {1900 + number}.",
    } | ({} if label is None else {"label": label})


def unsupported(number, label):
    return {
        "id": f"u{number}",
        "question": f"Who paid for bridge number {number}?",
        "contexts": [f"Bridge number {number} stands on granite piers above the river."],
        "response": f"Monks from Omsund gave {number + 40} pounds of silver for every lantern in 1650.",
    } | ({} if label is None else {"label": label})


BLANK = {"id": "r", "question": "Who?", "contexts": [" "], "response": "The yard closed in 1950."}


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def folder(tmp_path):
    """Labelled rows in a file, and rows to score in another: six supported, four not, one bare."""
    written(tmp_path / "checked.jsonl", [unsupported(n, 0) for n in range(24)] + [supported(0, 1)])
    rows = [*(supported(n, 1) for n in range(50, 56)), *(unsupported(n, 0) for n in range(50, 54)), BLANK]
    written(tmp_path / "rows.jsonl", rows)
    return tmp_path


def sgi(folder, *words):
    return command.sgi(folder, *words, SGI_CACHE_DIR=str(folder / "cache"), NO_PROXY="127.0.0.1")


def run(folder, server, *words, cascade=f"{ALPHA},labelled=checked.jsonl"):
    judge = ("-m", "faithfulness", "--judge", f"openai:m@{server.url}")
    return sgi(folder, "run", "rows.jsonl", *judge, "--cascade", cascade, *words)


def sound(asked):
    wants_verdicts = "verdicts" in json.dumps(asked.body["response_format"])
    return ServerReply(json.dumps({"verdicts": [VERDICT]}) if wants_verdicts else CLAIMS)


def asked_about(server):
    """The numbers of ships and bridges that any request named, and how many requests there were."""
    texts = [request.text for request in server.requests]
    ships = {int(n) for text in texts for n in re.findall(r"ship number (\d+)", text)}
    bridges = {int(n) for text in texts for n in re.findall(r"[Bb]ridge number (\d+)", text)}
    return ships, bridges, len(texts)


def test_the_judge_gets_no_request_for_a_row_that_is_cleared(folder):
    with JudgeServer(replies=sound) as server:
        result = run(folder, server, "--json", "-o", "scores.jsonl")
        ships, bridges, requests = asked_about(server)
    assert result.code == 0, result.err
    facts = result.json["cascade"]
    assert ships == set()
    assert bridges == set(range(50, 54))
    assert requests == round(facts["calls_per_row"] * 5)
    assert (facts["rows"], facts["cleared"], facts["without_value"]) == (11, 6, 1)
    assert facts["calls_saved"] == round(6 * facts["calls_per_row"]) >= 6
    assert (facts["unsupported"], facts["labelled"], facts["judged"]) == (24, 25, ["faithfulness"])
    assert (facts["misses"]["unsupported"], facts["misses"]["cleared"]) == (4, 0)
    by_name = {entry["metric"]: entry for entry in result.json["metrics"]}
    assert by_name["faithfulness"]["coverage"] == pytest.approx(5 / 11)
    assert by_name["faithfulness"]["counts"]["undefined"] == 6
    rows = [json.loads(line)["scores"] for line in (folder / "scores.jsonl").read_text().splitlines()]
    assert rows[0]["faithfulness"]["status"] == "undefined"
    assert re.fullmatch(
        r"not judged: grounding is above \S+ \(cascade, alpha 0\.05\)",
        rows[0]["faithfulness"]["reason"],
    )
    assert rows[0]["grounding"]["value"] > facts["threshold"] >= rows[6]["grounding"]["value"]
    assert rows[10]["grounding"]["status"] == "undefined"
    assert rows[10]["faithfulness"]["status"] == "ok"


def test_the_terminal_the_report_and_a_second_telling_agree(folder):
    with JudgeServer(replies=sound) as server:
        result = run(folder, server, "-q")
        requests = len(server.requests)
        again = sgi(folder, "run", "--resume", "last", "--trust-target", "-q")
        assert len(server.requests) == requests
    assert result.code == 0, result.err
    assert "cleared 6 of 11 rows (54.5%)" in result.out
    assert "The means of faithfulness cover only the rows that the judge scored" in result.out
    assert again.out == result.out
    with open_database(str(folder / "sgi.db")) as database:
        view = headline(database, find_run(database, "last"))
    assert any("cleared 6 of 11 rows" in note for note in headline_notes(view))


@pytest.mark.parametrize(
    ("cascade", "words", "said"),
    [
        ("alpha=1", (), "above 0 and below 1"),
        (f"{ALPHA},labelled=broken.jsonl", (), "broken.jsonl:2"),
        (f"{ALPHA},labelled=bare.jsonl", (), "No row of bare.jsonl has a label"),
        (ALPHA, ("--ray", "local", "-o", "out"), "does not support --cascade"),
    ],
)
def test_what_cannot_be_is_one_clear_error(folder, cascade, words, said):
    written(folder / "bare.jsonl", [supported(1, None)])
    (folder / "broken.jsonl").write_text(json.dumps(unsupported(1, 0)) + "\n{\n")
    with JudgeServer(replies=sound) as server:
        result = run(folder, server, *words, cascade=cascade)
        assert not server.requests
    assert result.code == 2
    assert said in result.err


def test_a_dry_run_asks_nothing_and_says_that_it_counts_the_most(folder):
    with JudgeServer(replies=sound) as server:
        result = run(folder, server, "--dry-run", "--json")
        assert not server.requests
    assert result.code == 0, result.err
    assert result.json["metrics"] == ["faithfulness", "grounding"]
    assert "upper limits" in result.json["cascade"]
