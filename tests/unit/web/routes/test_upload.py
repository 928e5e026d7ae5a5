from __future__ import annotations

import json

import pytest

from sgi.store.run_queries import find_run, list_runs
from support.kept_runs import rows
from support.web_server import submit_form, visible_text, wait_until

LINES = "".join(json.dumps(row) + "\n" for row in rows(12)).encode()


def _sent(client, content=LINES, file="mine.jsonl", **values):
    return submit_form(client, "/upload", files={"file": (file, content)}, **values)


def _ended(client, made):
    """The page of an upload once it is over."""
    address = made.headers["location"]
    wait_until(lambda: "hx-trigger" not in client.get(address).text)
    return client.get(address)


def test_an_upload_is_scored_and_leads_to_its_run(client, site):
    made = _sent(client, metrics=["squad_em", "rouge_l"], name="mine", tags="a, b")
    assert made.status_code == 303
    ended = _ended(client, made)
    record = find_run(site.database, "mine")
    assert (ended.status_code, ended.headers["location"]) == (303, f"/runs/{record.id}")
    assert (record.metrics, record.tags, record.scored) == (("squad_em", "rouge_l"), ("a", "b"), 12)
    scripted = client.get(made.headers["location"], headers={"HX-Request": "true"})
    assert scripted.headers["hx-redirect"] == f"/runs/{record.id}"
    assert list(site.folder.iterdir()) == []


def test_without_a_choice_the_fields_decide(client, site):
    table = b"id,response,reference\n1,The capital is Paris.,Paris is the capital.\n"
    _ended(client, _sent(client, table, "mine.csv"))
    assert list_runs(site.database)[0].metrics == ("semantic_similarity", "lexical_aggregate")


def test_a_bad_row_is_told_with_file_line_and_field(client, site):
    before = len(list_runs(site.database))
    content = LINES + b'{"id": "bad<b>", "question": 7}\n'
    ended = _ended(client, _sent(client, content, "<i>mine.jsonl"))
    assert "<i>mine.jsonl:13: id 'bad<b>': field 'question'" in visible_text(ended.text)
    assert "<b>" not in ended.text
    assert len(list_runs(site.database)) == before
    assert list(site.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"file": "mine.exe"}, "is not a supported file type"),
        ({"content": b""}, "is empty"),
        ({"metrics": ["faithfulness"]}, "is not an available metric"),
        ({"tags": "x" * 41}, "xxxxxxxx"),
    ],
)
def test_what_cannot_be_taken_is_told_above_the_form(client, site, given, message):
    made = _sent(client, **given)
    assert made.status_code == 400
    assert message in visible_text(made.text)
    assert 'name="file"' in made.text
    assert not site.folder.exists() or list(site.folder.iterdir()) == []


def test_a_name_that_is_taken_is_told(client):
    made = _sent(client, name="before", metrics=["squad_em"])
    assert "A run called 'before' is already there" in visible_text(_ended(client, made).text)


def test_no_file_is_told(client):
    response = submit_form(client, "/upload", files={"file": ("", b"")})
    assert (response.status_code, "No file was chosen." in visible_text(response.text)) == (400, True)
