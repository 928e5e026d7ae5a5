"""The page on which people keep, edit or drop the questions of a quiz."""

import json
import re

import pytest

from sgi_quiz.review_file import Review, dropped_path
from support.web_server import submit_form, visible_text

MARKUP = "<script>alert(1)</script>"


@pytest.fixture
def path(tmp_path, site):
    path = tmp_path / "quiz.jsonl"
    rows = [
        {
            "id": f"fact-{name}",
            "question": f"{name}?\u2028\x01",
            "reference": None if name == "c" else "one\r\ntwo",
            "gold_passages": [] if name == "c" else [f"The {MARKUP} is here. Other."],
            "sentence": "The alert(1) is here.",
        }
        for name in "abc"
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    site.quiz = Review(path)
    return path


def stored(path):
    return {row["id"]: row for row in map(json.loads, path.read_bytes().splitlines())}


def fields(text):
    """The texts of the fields as a browser sends them."""
    areas = re.findall(r'<textarea id="(\w+)"[^>]*>([^<]*)<', text)
    return {name: value.replace("\n", "\r\n") for name, value in areas} | dict(
        re.findall(r'name="(row)" value="([^"]*)"', text)
    )


def test_questions_are_kept_edited_dropped_and_taken_back(client, path):
    before = stored(path)
    page = client.get("/quiz").text
    assert MARKUP not in page
    assert '<mark class="stated">The &lt;script&gt;alert(1)&lt;/script&gt; is here.</mark> Other.' in page
    submit_form(client, "/quiz", answer="keep", **fields(page))
    assert stored(path)["fact-a"] == before["fact-a"] | {"review": "kept"}
    page = client.get("/quiz").text
    submit_form(client, "/quiz", answer="keep", **fields(page) | {"reference": "three"})
    assert stored(path)["fact-b"]["review"] == "edited"
    assert stored(path)["fact-b"]["generated_reference"] == "one\r\ntwo"
    submit_form(client, "/quiz", answer="drop", **fields(client.get("/quiz").text))
    assert {*stored(dropped_path(path))} == {"fact-c"}
    assert "No question is left" in client.get("/quiz").text
    back = [submit_form(client, "/quiz", answer="undo").headers["location"] for _ in range(4)]
    assert back == ["/quiz?row=fact-c", "/quiz?row=fact-b", "/quiz?row=fact-a", "/quiz"]
    assert stored(path) == before


def test_a_row_that_somebody_else_dropped_is_refused(client, path):
    sent = fields(client.get("/quiz").text)
    Review(path).drop("fact-a")
    refused = submit_form(client, "/quiz", answer="keep", **sent)
    assert (refused.status_code, "no longer in the quiz" in visible_text(refused.text)) == (400, True)


def test_a_form_of_another_site_decides_nothing(client, path):
    before = path.read_bytes()
    assert client.post("/quiz", data={"answer": "drop", "row": "fact-a"}).status_code == 403
    assert path.read_bytes() == before


def test_readers_do_not_see_the_quiz(signed_in, path):
    assert signed_in("view").get("/quiz").status_code == 403
    assert 'href="/quiz"' in signed_in("edit").get("/").text


def test_without_a_quiz_there_is_no_page(client):
    assert client.get("/quiz").status_code == 404
    assert 'href="/quiz"' not in client.get("/").text


def test_serve_refuses_a_file_that_is_no_quiz(sgi, tmp_path):
    (tmp_path / "quiz.jsonl").write_text('{"id": "a"}\n')
    assert "is not a row of a quiz" in sgi("serve", "--quiz", "quiz.jsonl").err
    assert "does not exist" in sgi("serve", "--quiz", "other.jsonl").err
