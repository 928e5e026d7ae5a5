from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgi.engine.progress import Advanced
from sgi.llm.spec import JudgeSpec
from sgi.store.run_queries import find_run, list_runs
from sgi_web import jobs as running
from support.judge_server import JudgeServer, error_reply
from support.kept_runs import rows
from support.upload_forms import disabled_metrics, form_values, press, send_file, wait_for_end
from support.web_server import submit_form, visible_text, wait_until, web_client

EXPORTS = Path(__file__).parents[3] / "data" / "exports"
LINES = "".join(json.dumps(row) + "\n" for row in rows(12)).encode()


def _scored(client, content=LINES, file="mine.jsonl", **changes):
    return press(client, send_file(client, content, file), **changes)


def _alert(response):
    """The message above the form."""
    return visible_text(response.text.partition('role="alert"')[2].partition("</p>")[0].partition(">")[2])


def test_an_upload_is_scored_and_leads_to_its_run(client, site):
    made = _scored(client, metrics=["squad_em", "rouge_l"], name="mine", tags="a, b")
    assert made.status_code == 303
    ended = wait_for_end(client, made.headers["location"])
    record = find_run(site.database, "mine")
    assert (ended.status_code, ended.headers["location"]) == (303, f"/runs/{record.id}")
    assert (record.metrics, record.tags, record.scored) == (("squad_em", "rouge_l"), ("a", "b"), 12)
    scripted = client.get(made.headers["location"], headers={"HX-Request": "true"})
    assert scripted.headers["hx-redirect"] == f"/runs/{record.id}"
    assert list(site.folder.iterdir()) == []


def test_a_preview_shows_rows_columns_and_the_default_metrics(client, site):
    table = b"id,answer,expected,extra\n1,The capital is Paris.,Paris <b>is</b> the capital.,x\n"
    address = send_file(client, table, "mine.csv")
    page = client.get(address).text
    assert "1 row can be read, 0 cannot." in visible_text(page)
    assert "Paris &lt;b&gt;is&lt;/b&gt; the capital." in page
    values = form_values(page)
    assert (values["map.response"], values["map.reference"], values["map.question"]) == (
        ["answer"],
        ["expected"],
        [""],
    )
    assert values["metrics"] == ["semantic_similarity", "lexical_aggregate"]
    assert {"sgi", "grounding", "faithfulness"} <= {*disabled_metrics(page)}
    assert "no row has contexts, question" in visible_text(page)
    assert "this server has no judge (sgi serve --judge)" in visible_text(page)
    wait_for_end(client, press(client, address).headers["location"])
    assert list_runs(site.database)[0].metrics == ("semantic_similarity", "lexical_aggregate")


def test_columns_are_mapped_as_with_map(client, site):
    lines = b"".join(
        json.dumps({"n": k, "in": {"q": f"Why {k}?"}, "out": "Because.", "docs": ["A.", "B."]}).encode()
        + b"\n"
        for k in range(3)
    )
    address = send_file(client, lines, "mine.jsonl")
    before = client.get(address)
    assert 'value="in.q"' in before.text
    mapped = {"map.question": "in.q", "map.response": "out", "map.id": "n"}
    shown = press(client, address, "preview", **mapped)
    assert "Why 2?" in visible_text(shown.text)
    assert form_values(shown.text)["map.question"] == ["in.q"]
    made = press(client, address, page=shown.text, metrics=["sgi"], name="mapped")
    wait_for_end(client, made.headers["location"])
    assert find_run(site.database, "mapped").spec["columns"] == {
        "id": "n",
        "question": "in.q",
        "response": "out",
    }
    dropped = press(client, address := send_file(client, LINES, "a.jsonl"), "preview", **{"map.label": ""})
    assert ("label", "") in [(name, value) for name, (value,) in _mapped(dropped).items()]
    assert press(client, address, "preview", **{"map.question": "nothing"}).status_code == 200


def _mapped(response):
    values = form_values(response.text)
    return {
        name[4:]: value
        for name, value in values.items()
        if name.startswith("map.") and f"detected.{name[4:]}" not in values
    }


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_a_mapping_to_a_column_that_does_not_exist_names_the_columns(client, site, name):
    content = b"id,question,response\n1,Why?,So.\n" if name.endswith("csv") else LINES
    address = send_file(client, content, name)
    response = press(client, address, metrics=["refusal"], **{"map.response": "<i>answers"})
    assert response.status_code == 400
    assert "no column is called '<i>answers'; there are: 'id', 'question'" in visible_text(response.text)
    assert "<i>" not in response.text
    assert form_values(response.text)["map.response"] == ["<i>answers"]
    assert press(client, address, metrics=["refusal"]).status_code == 303


def test_rows_that_cannot_be_read_are_listed_and_skipped_on_request(client, site):
    content = LINES + b'{"id": "bad<b>", "question": 7}\n'
    address = send_file(client, content, "<i>mine.jsonl")
    page = client.get(address)
    assert "<i>mine.jsonl:13: id 'bad<b>': field 'question'" in visible_text(page.text)
    assert "<b>" not in page.text
    refused = press(client, address, metrics=["squad_em"])
    assert (refused.status_code, _alert(refused)) == (
        400,
        "1 row cannot be read. Correct the file or the columns, or select that such rows are skipped.",
    )
    made = press(client, address, metrics=["squad_em"], name="rest", skip_rejected="yes")
    wait_for_end(client, made.headers["location"])
    record = find_run(site.database, "rest")
    assert (record.rows, record.rejected) == (12, 1)
    assert list(site.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "count"), [("langfuse_observations.csv", 9), ("phoenix_spans.parquet", 8), ("genai.otlp.pb", 3)]
)
def test_exports_of_other_tools_are_read_as_by_sgi_run(client, site, file, count):
    address = send_file(client, (EXPORTS / file).read_bytes(), file)
    page = client.get(address)
    assert f"gave {count} rows" in visible_text(page.text)
    made = press(client, address, metrics=["grounding"], name=file)
    wait_for_end(client, made.headers["location"])
    assert find_run(site.database, file).scored == count


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"file": "mine.exe"}, "is not a supported file type"),
        ({"content": b""}, "is empty"),
        ({"file": "", "content": b""}, "No file was chosen."),
    ],
)
def test_what_cannot_be_taken_is_told_above_the_form(client, site, given, message):
    given = {"content": LINES, "file": "mine.jsonl"} | given
    made = submit_form(client, "/upload", files={"file": (given["file"], given["content"])})
    assert made.status_code == 400
    assert message in visible_text(made.text)
    assert 'name="file"' in made.text
    assert not site.folder.exists() or list(site.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": ["faithfulness"]}, "'faithfulness': this server has no judge"),
        ({"metrics": ["latency"]}, "'latency': no row has latency_ms"),
        ({"metrics": ["<script>"]}, "'<script>': it is not an available metric"),
        ({"tags": "x" * 41}, "xxxxxxxx"),
        ({"encoding": "utf-99"}, "Unknown encoding 'utf-99'"),
    ],
)
def test_values_that_cannot_be_taken_are_told_above_the_form(client, site, changes, message):
    made = _scored(client, **{"metrics": ["squad_em"], **changes})
    assert made.status_code == 400
    assert message in _alert(made)
    assert "<script>" not in made.text.partition("<main")[2]


def test_a_name_that_is_taken_is_told(client):
    made = _scored(client, name="before", metrics=["squad_em"])
    ended = wait_for_end(client, made.headers["location"])
    assert "A run called 'before' is already there" in visible_text(ended.text)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("rows.csv", b"\x89PNG\r\n\x1a\n" + bytes(200), "is binary data, not text"),
        ("rows.parquet", LINES, "rows.parquet: "),
        ("rows.jsonl", b"PK\x03\x04" + bytes(2000), "is binary data, not text"),
        ("rows.csv", b"response" + b",c" * 20_000 + b"\n", "20,001 columns are more than 10,000"),
        ("rows.json", b"[" * 100_000, "nested too deeply"),
        ("rows.csv", b"a,b\n1,2\n", "no column is recognised: found 'a', 'b'"),
    ],
)
def test_files_of_another_kind_are_told_and_not_scored(client, site, file, content, message):
    address = send_file(client, content, file)
    page = client.get(address)
    assert message in visible_text(page.text)
    assert "preview-" not in page.text
    assert press(client, address, metrics=["refusal"]).status_code == 400


def test_a_file_that_changes_its_type_has_rejected_rows(client):
    content = LINES + b"\xff\xfe\x00\x01 not text\n" + b'{"id": "13", "response": [1]}\n'
    page = client.get(send_file(client, content, "rows.jsonl"))
    assert "12 rows can be read, 2 cannot." in visible_text(page.text)
    assert "rows.jsonl:13: " in visible_text(page.text)


def test_ten_thousand_columns_with_markup_make_a_small_page(client):
    header = ",".join(["response", *(f"<img src=x>{k}" for k in range(9_999))])
    address = send_file(client, f"{header}\n{',x' * 9_999}\n".encode(), "wide.csv")
    page = client.get(address)
    assert "1 row can be read" in visible_text(page.text)
    assert "<img" not in page.text
    assert len(page.text) < 100_000
    assert press(client, address, "preview", **{"map.question": "<img src=x>7"}).status_code == 200


def test_a_preview_belongs_to_the_session_that_uploaded_it(client, site):
    address = send_file(client, LINES, "mine.jsonl")
    client.cookies.clear()
    assert client.get(address).status_code == 404
    stolen = submit_form(client, "/upload", to=address, action="score", metrics=["squad_em"])
    assert (stolen.status_code, len(list(site.folder.iterdir()))) == (404, 1)


def test_a_preview_is_scored_once_and_needs_the_form_key(client):
    address = send_file(client, LINES, "mine.jsonl")
    page = client.get(address).text
    assert client.post(address, data={"action": "score", "metrics": ["squad_em"]}).status_code == 403
    assert press(client, address, page=page, metrics=["squad_em"]).status_code == 303
    assert press(client, address, page=page, metrics=["squad_em"]).status_code == 404


def test_previews_that_are_never_started_are_removed(site):
    with web_client(site) as client:
        first = send_file(client, LINES, "first.jsonl")
        for k in range(20):
            send_file(client, LINES, f"{k}.jsonl")
        assert client.get(first).status_code == 404
        assert len(list(site.folder.iterdir())) == 20
    assert list(site.folder.iterdir()) == []


@pytest.fixture
def held(monkeypatch):
    """Runs of which the first batch is stored, and that wait then until the event of `go` is set."""
    from threading import Event

    real, inside, go = running.Jobs._on_event, Event(), Event()

    def heard(self, job, event):
        real(self, job, event)
        if isinstance(event, Advanced) and job.run is not None and not go.is_set():
            inside.set()
            wait_until(lambda: job.cancelled or go.is_set())

    monkeypatch.setattr(running.Jobs, "_on_event", heard)
    yield inside, go
    go.set()


def test_a_cancelled_job_keeps_its_rows_and_is_resumed(client, site, held):
    inside, go = held
    content = "".join(json.dumps(row) + "\n" for row in rows(1200)).encode()
    address = _scored(client, content, metrics=["squad_em"], name="mine").headers["location"]
    behind = _scored(client, metrics=["squad_em"], name="behind").headers["location"]
    assert inside.wait(60)
    shown = visible_text(client.get(address).text)
    assert "scoring: 256 of 1,200 rows" in shown
    for path in (behind, address):
        for _ in range(2):  # the second one changes nothing
            made = submit_form(client, "/upload", to=f"{path}/cancel")
            assert (made.status_code, made.headers["location"]) == (303, path)
    ended = wait_for_end(client, address)
    go.set()
    assert "You cancelled this upload." in visible_text(ended.text)
    record = find_run(site.database, "mine")
    assert 0 < record.scored < 1200
    assert "You cancelled this upload." in visible_text(client.get(behind).text)
    assert [run.name for run in list_runs(site.database)].count("behind") == 0
    assert sorted(path.name[:4] for path in site.folder.iterdir()) == ["job-", "uplo"]
    resumed = submit_form(client, "/upload", to=f"{address}/resume")
    assert resumed.status_code == 303
    assert wait_for_end(client, address).headers["location"] == f"/runs/{record.id}"
    assert find_run(site.database, "mine").scored == 1200
    assert list(site.folder.iterdir()) == []
    for action in ("cancel", "resume"):  # it has ended
        assert submit_form(client, "/upload", to=f"{address}/{action}").status_code == 303
    assert client.post(f"{address}/cancel").status_code == 403


KEY = "sk-secret-of-the-server"


@pytest.fixture
def judged(site, monkeypatch):
    """Return a function that starts a site with a judge; it has the key of the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("SGI_CACHE_DIR", str(site.folder.parent / "cache"))

    def start(server, budget=None):
        prices = {"input_price": 1000.0, "output_price": 1000.0, "retries": 0}
        site.judge = JudgeSpec.of({"model": f"openai:m@{server.url}", **prices})
        site.judge_budget = budget
        return web_client(site)

    return start


def test_a_judge_that_fails_gives_failed_rows_with_reasons_and_no_score(judged, site, caplog):
    with JudgeServer(replies=error_reply(400, "no such model"), key=KEY) as server, judged(server) as client:
        address = send_file(client, LINES, "mine.jsonl")
        asked = press(client, address, metrics=["faithfulness"], name="judged")
        assert "Check the estimate" in visible_text(asked.text)
        assert "needs about 24 calls for this file" in visible_text(asked.text)
        assert server.requests == []
        made = press(client, address, page=asked.text, metrics=["faithfulness"], name="judged")
        ended = wait_for_end(client, made.headers["location"])
        run = find_run(site.database, "judged")
        assert ended.headers["location"] == f"/runs/{run.id}"
        assert (run.scored, run.finished) == (12, True)
        reply = client.get(f"/api/v1/runs/{run.id}/samples").json()
        cells = [row["cells"]["faithfulness"] for row in reply["rows"]]
        assert {(cell["value"], cell["status"]) for cell in cells} == {(None, "failed")}
        sample = client.get(f"/api/v1/runs/{run.id}/samples/item-1").json()
        assert "no such model" in sample["scores"]["faithfulness"]["reason"]
        pages = [asked.text, ended.text, client.get(f"/runs/{run.id}").text]
    stored = b"".join(path.read_bytes() for path in Path(site.place).parent.rglob("*") if path.is_file())
    assert KEY.encode() not in stored
    assert not any(KEY in text for text in [*pages, caplog.text])


def test_the_judge_budget_is_a_limit_of_all_uploads(judged, site):
    others = LINES.replace(b"item", b"thing").replace(b"Nothing", b"Little")
    with JudgeServer() as server, judged(server, budget=17.0) as client:
        address = send_file(client, LINES, "mine.jsonl")
        asked = press(client, address, metrics=["faithfulness"])
        assert "Left of the judge budget of this server: $17.0000" in visible_text(asked.text)
        made = press(client, address, page=asked.text, metrics=["faithfulness"])
        wait_for_end(client, made.headers["location"])
        cost = 0.11 * len(server.requests)
        assert cost > 1
        refused = press(client, send_file(client, others, "mine.jsonl"), metrics=["faithfulness"])
        assert refused.status_code == 400
        assert f"but ${17 - cost:.4f} of the judge budget is left" in _alert(refused)
        assert cost == pytest.approx(0.11 * len(server.requests))
