from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from sgi.llm.judge_spec import JudgeSpec
from sgi.store.evaluations import sample_evaluation
from sgi.store.run_queries import find_run, list_runs
from sgi_web import upload_form
from support.judge_server import JudgeServer, error_reply
from support.kept_runs import rows
from support.slow import slow
from support.upload_forms import form_values, press, send_file, wait_for_end
from support.web_server import submit_form, visible_text, wait_until, web_client

EXPORTS = Path(__file__).parents[3] / "data" / "exports"
LINES = "".join(json.dumps(row) + "\n" for row in rows(12)).encode()


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """A machine with other work can need longer than the limit of a preview."""
    monkeypatch.setattr(upload_form, "MAX_SECONDS", 600.0)


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


@pytest.mark.parametrize("size", [1, 40_000])  # in memory, and on the disk from 1 MB
def test_a_compressed_upload_of_any_size_is_previewed(client, size):
    lines = (f"q {k} {k * 7919**5 % 10**15},r {k * 104729**4 % 10**15}\n" for k in range(size))
    address = send_file(client, gzip.compress(f"question,response\n{''.join(lines)}".encode()), "rows.csv.gz")
    assert "rows can be read, 0 cannot" in visible_text(client.get(address).text).replace("1 row ", "1 rows ")


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
    assert values["metrics"] == ["semantic_similarity"]
    reasons = visible_text(page[page.index("Not available for this file") :])
    assert re.search(r"no row has contexts, question:[^:]*\bsgi\b", reasons)
    assert re.search(r"sgi serve --judge[^:]*:[^:]*\bfaithfulness\b", reasons)
    wait_for_end(client, press(client, address).headers["location"])
    assert list_runs(site.database)[0].metrics == ("semantic_similarity",)


@pytest.mark.slow
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


def test_contexts_of_one_text_are_split_on_request(client, site):
    table = pa.table({"question": ["Q?"] * 2, "contexts": ["One.\n---\nTwo."] * 2, "response": ["One."] * 2})
    content = io.BytesIO()
    with pa.ipc.new_stream(content, table.schema) as stream:
        stream.write_table(table)
    address = send_file(client, content.getvalue(), "rows.arrow")
    before = client.get(address)
    assert "use --split-contexts dashes" in visible_text(before.text)
    assert form_values(before.text)["split_contexts"] == [""]

    shown = press(client, address, "preview", split_contexts="dashes")
    assert "Contexts of 2 of 2 rows were split by dashes." in visible_text(shown.text)
    made = press(client, address, page=shown.text, metrics=["grounding"], name="split")
    wait_for_end(client, made.headers["location"])

    record = find_run(site.database, "split")
    assert record.spec["split_contexts"] == "dashes"
    assert sample_evaluation(site.database, record, "1").sample.contexts == ("One.", "Two.")


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
    assert (refused.status_code, "cannot be read: 1" in _alert(refused)) == (400, True)
    made = press(client, address, metrics=["squad_em"], name="rest", skip_rejected="yes")
    wait_for_end(client, made.headers["location"])
    record = find_run(site.database, "rest")
    assert (record.rows, record.rejected) == (12, 1)
    assert list(site.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "count"),
    [("genai.otlp.pb", 3), *slow(("langfuse_observations.csv", 9), ("phoenix_spans.parquet", 8))],
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
        ({"metrics": ["faithfulness"]}, "'faithfulness' cannot be scored: this server has no judge"),
        ({"metrics": ["latency"]}, "'latency' cannot be scored: no row has latency_ms"),
        ({"metrics": ["<script>"]}, "'<script>' cannot be scored"),
        ({"tags": "x" * 41}, "xxxxxxxx"),
        ({"encoding": "utf-99"}, "Unknown encoding 'utf-99'"),
    ],
)
def test_values_that_cannot_be_taken_are_told_above_the_form(client, site, changes, message):
    made = _scored(client, **{"metrics": ["squad_em"], **changes})
    assert made.status_code == 400
    assert message in _alert(made)
    assert "<script>" not in made.text.partition("<main")[2]


@pytest.mark.slow
def test_a_name_that_is_taken_is_told(client):
    made = _scored(client, name="before", metrics=["squad_em"])
    ended = wait_for_end(client, made.headers["location"])
    assert "A run called 'before' already exists" in visible_text(ended.text)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("rows.parquet", LINES, "rows.parquet: "),
        ("rows.jsonl", b"PK\x03\x04" + bytes(2000), "is binary data, not text"),
        ("rows.csv", b"a,b\n1,2\n", "no column is recognised: found 'a', 'b'"),
    ],
)
def test_files_of_another_kind_are_told_and_not_scored(client, site, file, content, message):
    address = send_file(client, content, file)
    page = client.get(address)
    assert message in visible_text(page.text)
    assert "upload-" not in page.text
    assert press(client, address, metrics=["refusal"]).status_code == 400


def test_ten_thousand_columns_with_markup_make_a_small_page(client):
    header = ",".join(["response", *(f"<img src=x>{k}" for k in range(9_999))])
    address = send_file(client, f"{header}\n{',x' * 9_999}\n".encode(), "wide.csv")
    page = client.get(address)
    assert "1 row can be read" in visible_text(page.text)
    assert "<img" not in page.text
    assert len(page.text) < 100_000
    assert press(client, address, "preview", **{"map.question": "<img src=x>7"}).status_code == 200


def test_a_preview_is_scored_once_and_needs_the_form_key(client):
    address = send_file(client, LINES, "mine.jsonl")
    page = client.get(address).text
    assert client.post(address, data={"action": "score", "metrics": ["squad_em"]}).status_code == 403
    for _ in range(2):
        assert press(client, address, page=page, metrics=["squad_em"]).headers["location"] == address
    wait_for_end(client, address)
    assert press(client, address, page=page, metrics=["squad_em"]).headers["location"] == address
    assert client.get("/api/v1/runs").json()["total"] == 3


@pytest.mark.slow
def test_an_upload_is_followed_and_cancelled(client, site):
    content = "".join(json.dumps(row) + "\n" for row in rows(3000)).encode()
    address = _scored(client, content, metrics=["sgi"], name="mine").headers["location"]
    assert f'href="{address}"' in client.get("/").text
    wait_until(lambda: re.search(r'<progress[^>]* max="3000" value="[1-9]', client.get(address).text), 600.0)
    shown = client.get(address).text
    for _ in range(2):  # the second one changes nothing
        made = press(client, address, "cancel", page=shown)
        assert (made.status_code, made.headers["location"]) == (303, address)
    ended = wait_for_end(client, address)
    record = find_run(site.database, "mine")
    assert 0 < record.scored < 3000
    assert f"sgi run --resume {record.id}" in visible_text(ended.text)
    assert client.post(address, data={"action": "cancel"}).status_code == 403
    assert f'href="{address}"' not in client.get("/").text


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


@pytest.mark.slow
def test_a_judge_that_fails_gives_failed_rows_with_reasons_and_no_score(judged, site, caplog):
    with JudgeServer(replies=error_reply(400, "no such model"), key=KEY) as server, judged(server) as client:
        address = send_file(client, LINES, "mine.jsonl")
        asked = press(client, address, "preview", metrics=["faithfulness"], name="judged")
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


@pytest.mark.slow
def test_the_judge_budget_is_a_limit_of_all_uploads(judged, site):
    """The first upload costs more than half of the budget, so the second one stops in the middle."""
    others = LINES.replace(b"item", b"thing").replace(b"Nothing", b"Little")
    with JudgeServer() as server, judged(server, budget=4.0) as client:
        address = send_file(client, LINES, "mine.jsonl")
        assert "$4.0000" in visible_text(client.get(address).text)
        made = press(client, address, metrics=["faithfulness"])
        wait_for_end(client, made.headers["location"])
        cost = 0.11 * len(server.requests)
        assert 2 < cost < 4
        address = send_file(client, others, "mine.jsonl")
        assert f"${4 - cost:.4f}" in visible_text(client.get(address).text)
        ended = wait_for_end(client, press(client, address, metrics=["faithfulness"]).headers["location"])
        assert (ended.status_code, "max_cost" in _alert(ended) or "budget" in _alert(ended)) == (200, True)
        assert 0.11 * len(server.requests) <= 4.0 + 1e-9
