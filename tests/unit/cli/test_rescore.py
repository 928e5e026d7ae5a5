from __future__ import annotations

import pytest

from sgi.store.database import open_database
from support.answers import write_jsonl
from support.judged_metrics import judged_run, register_metrics

WEIGHTED = "politeness(weights=[1,0])"
CANONICAL = "politeness(weights=[1, 0])"


def rows(*, replies=True):
    result = [
        {"id": f"q{k}", "question": "Who?", "response": f"Please, {k}.", "reference": "R"} for k in range(4)
    ]
    return (
        result
        if replies
        else [*result, {"id": "q4", "question": "Who?", "response": "no reply", "reference": "R"}]
    )


@pytest.fixture
def kept(sgi, tmp_path, monkeypatch):
    register_metrics(monkeypatch)
    with open_database(tmp_path / "sgi.db") as database:
        path = write_jsonl(tmp_path / "a.jsonl", rows())
        report = judged_run(database, path, ["politeness", "echo", "squad_em"], name="judged")
    return report.run


def test_other_weights_give_a_new_run_that_every_verb_reads(sgi, kept):
    result = sgi("judge", "rescore", "judged", "-m", f"{WEIGHTED},echo", "--name", "weighted")
    assert result.code == 0
    assert CANONICAL in result.out
    assert "4 / 4" in result.out
    assert f"{CANONICAL} is computed from the stored replies for politeness." in result.err
    assert "The new run is stored. Show it: sgi show " in result.err
    outcome = sgi("show", "weighted")
    assert result.out in outcome.out
    assert f'rescored_from = "{kept}"' in outcome.out
    assert "--resume" not in outcome.out
    assert "Judge requests" not in outcome.out
    refused = sgi("compare", "judged", "weighted")
    assert (refused.code, "parameters of politeness" in refused.err) == (2, True)
    assert "only in judged: politeness, squad_em" in sgi("compare", "judged", "weighted", "-m", "echo").out
    assert sgi("gate", "weighted", f"{CANONICAL} >= 0.999").code == 4
    again = sgi("judge", "rescore", "weighted", "-m", "courtesy(weights=[1,0])", "--json", "-q").json
    assert again["rescored_from"] == sgi("show", "weighted", "--json").json["run"]["id"]


def test_without_names_all_of_them_and_json_says_from_what(sgi, kept):
    result = sgi("judge", "rescore", kept, "--json", "--quiet")
    assert (result.code, result.err) == (0, "")
    facts = result.json
    assert facts["sources"] == {"politeness": "politeness", "echo": "echo"}
    assert (facts["rescored_from"], facts["notes"]) == (kept, [])
    before = sgi("show", "judged", "--json").json["summary"]["metrics"]
    assert facts["metrics"] == [entry for entry in before if entry["metric"] != "squad_em"]


def test_failed_rows_stay_so_and_the_exit_code_tells(sgi, tmp_path, monkeypatch):
    register_metrics(monkeypatch)
    with open_database(tmp_path / "other.db") as database:
        judged_run(database, write_jsonl(tmp_path / "a.jsonl", rows(replies=False)), ["politeness"])
    result = sgi("judge", "rescore", "last", "--db", "other.db")
    assert result.code == 3
    assert "20.0% of the rows failed" in result.err
    assert "--db other.db" in result.err
    assert "The judge gave no reply." in sgi("show", "last", "--db", "other.db").out
