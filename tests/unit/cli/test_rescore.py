from __future__ import annotations

import pytest

from sgi.store.database import open_database
from support.answers import write
from support.judged_metrics import judged_run, offer

WEIGHTED = "politeness(weights=[1,0])"
CANONICAL = "politeness(weights=[1, 0])"


def rows(*, replies=True):
    made = [
        {"id": f"q{k}", "question": "Who?", "response": f"Please, {k}.", "reference": "R"} for k in range(4)
    ]
    return (
        made
        if replies
        else [*made, {"id": "q4", "question": "Who?", "response": "no reply", "reference": "R"}]
    )


@pytest.fixture
def kept(sgi, tmp_path, monkeypatch):
    offer(monkeypatch)
    with open_database(tmp_path / "sgi.db") as database:
        path = write(tmp_path / "a.jsonl", rows())
        report = judged_run(database, path, ["politeness", "echo", "squad_em"], name="judged")
    return report.run


def test_other_weights_give_a_new_run_that_every_verb_reads(sgi, kept):
    made = sgi("rescore", "judged", "-m", f"{WEIGHTED},echo", "--name", "weighted")
    assert made.code == 0
    assert CANONICAL in made.out
    assert "4 / 4" in made.out
    assert f"{CANONICAL} is computed from the evidence of politeness." in made.err
    assert "The new run is kept: sgi show " in made.err
    shown = sgi("show", "weighted")
    assert made.out in shown.out
    assert f'rescored_from = "{kept}"' in shown.out
    assert "--resume" not in shown.out
    assert "The judge was asked" not in shown.out
    refused = sgi("compare", "judged", "weighted")
    assert (refused.code, "parameters of politeness" in refused.err) == (2, True)
    assert "only in judged: politeness, squad_em" in sgi("compare", "judged", "weighted", "-m", "echo").out
    assert sgi("gate", "weighted", f"{CANONICAL} >= 0.999").code == 4
    again = sgi("rescore", "weighted", "-m", "courtesy(weights=[1,0])", "--json", "-q").json
    assert again["rescored_from"] == sgi("show", "weighted", "--json").json["run"]["id"]


def test_without_names_all_of_them_and_json_says_from_what(sgi, kept):
    made = sgi("rescore", kept, "--json", "--quiet")
    assert (made.code, made.err) == (0, "")
    told = made.json
    assert told["sources"] == {"politeness": "politeness", "echo": "echo"}
    assert (told["rescored_from"], told["notes"]) == (kept, [])
    before = sgi("show", "judged", "--json").json["summary"]["metrics"]
    assert told["metrics"] == [found for found in before if found["metric"] != "squad_em"]


def test_percent_or_not(sgi, kept):
    def means(*options):
        return sgi("rescore", "judged", "-m", WEIGHTED, "-q", *options).out.partition("\n\n")[0]

    assert " %" in means().replace("95 %", "")
    assert " %" not in means("--no-percent").replace("95 %", "")


def test_failed_rows_stay_so_and_the_exit_code_tells(sgi, tmp_path, monkeypatch):
    offer(monkeypatch)
    with open_database(tmp_path / "other.db") as database:
        judged_run(database, write(tmp_path / "a.jsonl", rows(replies=False)), ["politeness"])
    made = sgi("rescore", "last", "--db", "other.db")
    assert made.code == 3
    assert "20.0% of the rows failed" in made.err
    assert "--db other.db" in made.err
    assert "The judge gave no reply." in sgi("show", "last", "--db", "other.db").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-m", "reference_politeness"], "asks a judge other questions"),
        (["-m", "squad_em"], "uses no judge"),
        (["-m", "politness"], "Did you mean 'politeness'"),
        (["--name", "judged"], "already there"),
        (["--cache", "v.db", "--no-cache"], "not both"),
    ],
)
def test_what_cannot_be_says_why_and_makes_no_run(sgi, kept, words, told):
    made = sgi("rescore", "judged", "-q", *words)
    assert (made.code, made.out) == (2, "")
    assert told in made.err
    assert len(sgi("runs", "--json").json) == 1


def test_an_unknown_run_and_a_missing_database(sgi, kept):
    assert "Did you mean 'judged'" in sgi("rescore", "judgd").err
    assert "no.db" in sgi("rescore", "last", "--db", "no.db").err


def test_help_shows_examples(sgi):
    made = sgi("rescore", "--help")
    assert made.code == 0
    assert "sgi rescore last" in made.out
