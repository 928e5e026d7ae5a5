from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from sgi.engine.evaluate import evaluate
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi_web.app import create_app
from sgi_web.site import Site
from support.kept_runs import rows, store_run

METRICS = ("content_f1", "squad_token_f1")
ROW = {
    "question": "Who wrote Emma?",
    "contexts": ["Emma is a novel by Jane Austen."],
    "response": "Jane Austen.",
}
HOSTILE = "../q 1?#'\"%2F\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    given = rows(12)
    given[3]["id"] = HOSTILE
    store_run(folder / "sgi.db", folder, given, name="before", metrics=METRICS)
    better = [row | {"response": row["reference"]} for row in given]
    store_run(folder / "sgi.db", folder, better, name="after", metrics=METRICS)
    with open_database(folder / "sgi.db") as database:
        site = Site(database=database, place=folder / "sgi.db", scoring=True)
        with TestClient(create_app(site), base_url="http://localhost") as made:
            yield made


def valid(client, path, method, response):
    """Whether an answer is what OpenAPI says of it."""
    document = client.get("/api/v1/openapi.json").json()
    documented = document["paths"][f"/api/v1{path}"][method]["responses"][str(response.status_code)]
    schema = documented["content"]["application/json"]["schema"] | {"components": document["components"]}
    Draft202012Validator(schema).validate(response.json())
    return response.json()


def score(client, **given):
    return client.post("/api/v1/score", json={"rows": [ROW]} | given)


def test_rows_are_scored_as_everywhere(client):
    given = rows(8)
    response = client.post("/api/v1/score", json={"rows": given, "metrics": ["sgi", "content_f1"]})
    body = valid(client, "/score", "post", response)
    expected = evaluate(given, ["sgi", "content_f1"])
    assert body["signature"] == expected.signature
    assert [row["id"] for row in body["scores"]] == [row["id"] for row in given]
    for name in ("sgi", "content_f1"):
        assert [row[name]["value"] for row in body["scores"]] == expected[name].values.tolist()
        assert all(
            row[name] == {"value": row[name]["value"], "status": "ok", "reason": ""} for row in body["scores"]
        )


def test_without_details_only_the_texts_of_the_values_are_embedded(client, monkeypatch):
    embedded, encode = [], OnnxEmbedder.encode

    def recorded(embedder, texts):
        embedded.extend(texts)
        return encode(embedder, texts)

    monkeypatch.setattr(OnnxEmbedder, "encode", recorded)
    row = ROW | {"response": "It is Emma. She wrote it in 1815."}
    both = ["sgi", "sgi(sentences=false)"]
    for details in (False, True):
        (found,) = score(client, rows=[row], metrics=both, details=details).json()["scores"]
        assert found[both[0]]["value"] == found[both[1]]["value"]
        assert ("It is Emma." in embedded) == details


def test_a_row_without_value_says_why_and_details_come_when_asked(client):
    given = [ROW, ROW | {"response": " "}, {"question": "Who?", "response": "She."}]
    body = valid(client, "/score", "post", score(client, rows=given, metrics=["sgi"], details=True))
    first, blank, lacking = (row["sgi"] for row in body["scores"])
    assert first["details"]["sentences"][0]["text"] == "Jane Austen."
    assert (blank["value"], blank["status"], blank["reason"]) == (None, "undefined", "the response is blank")
    assert (lacking["status"], lacking["reason"]) == ("missing", "the sample has no contexts")


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        ({"rows": [{"id": "x", "response": 3}]}, 422, "string"),
        ({"metrics": ["faithfulness"]}, 400, "needs a judge"),
        ({"metrics": ["sgii"]}, 400, "Did you mean 'sgi'?"),
        ({"rows": [{"question": "Who?"}]}, 400, "No row has the fields"),
        ({"rows": [ROW | {"response": "x" * 1_000_000}]}, 422, "200000 characters"),
        (
            {
                "rows": [ROW | {"response": " ".join(f"Sentence {n} is here." for n in range(5000))}],
                "metrics": ["sgi"],
                "details": True,
            },
            400,
            "texts to embed",
        ),
    ],
)
def test_what_cannot_be_scored_is_told_in_one_shape(client, given, status, message):
    response = score(client, **given)
    body = valid(client, "/score", "post", response)
    assert response.status_code == status
    assert message in body["error"]["message"]
    assert {"message", "hint"} <= body["error"].keys() <= {"message", "hint", "row", "id", "field"}


def test_a_body_is_json_and_bounded_whatever_the_headers_say(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        response = client.post("/api/v1/score", content=b"{}", headers={"Content-Type": kind})
        assert response.status_code == 415
        valid(client, "/score", "post", response)
    parts = (b" " * (1 << 20) for _ in range(9))  # without a Content-Length
    response = client.post("/api/v1/score", content=parts, headers={"Content-Type": "application/json"})
    assert response.status_code == 413
    assert "8.4 MB" in valid(client, "/score", "post", response)["error"]["message"]


def test_a_page_of_another_site_can_change_nothing(client):
    for headers in {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}:
        for method, path in ("POST", "/score"), ("PATCH", "/runs/before"), ("DELETE", "/runs/before"):
            response = client.request(method, f"/api/v1{path}", json={}, headers=headers)
            assert response.status_code == 403, (method, headers)
            assert response.json()["error"]["message"]


def test_a_server_without_a_scorer_says_so(tmp_path):
    with open_database(tmp_path / "sgi.db") as database:
        refused = score(TestClient(create_app(Site(database=database)), base_url="http://localhost"))
    assert refused.status_code == 503
    assert "Scoring is disabled" in refused.json()["error"]["message"]


def test_too_many_rows_at_once_are_asked_to_come_again(client, monkeypatch):
    monkeypatch.setattr(client.app.state.site.scorer._opened, "_max_waiting", 1)
    response = score(client, rows=[ROW, ROW])
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "1"
    assert valid(client, "/score", "post", response)["error"]["hint"] == "Try again in a moment."


def test_metrics_say_what_they_need(client):
    by_name = {entry["name"]: entry for entry in client.get("/api/v1/metrics").json()}
    assert by_name["sgi"]["needs"] == ["contexts", "question", "response"]
    assert (by_name["sgi"]["low"], by_name["sgi"]["high"], by_name["sgi"]["judged"]) == (0.0, None, False)
    assert by_name["faithfulness"]["judged"]
    assert not by_name["reference_aggregate"]["judged"]
    valid(client, "/metrics", "get", client.get("/api/v1/metrics"))


def test_runs_are_listed_and_searched(client):
    body = valid(client, "/runs", "get", client.get("/api/v1/runs"))
    assert [run["name"] for run in body["runs"]] == ["after", "before"]
    body = client.get("/api/v1/runs", params={"search": "BEFORE"}).json()
    assert [run["name"] for run in body["runs"]] == ["before"]
    body = client.get("/api/v1/runs", params={"size": 1, "page": 2}).json()
    assert ([run["name"] for run in body["runs"]], body["total"], body["pages"]) == (["before"], 2, 2)


def test_a_run_has_its_head_and_its_numbers(client):
    body = valid(client, "/runs/{run}", "get", client.get("/api/v1/runs/before"))
    assert body["head"]["metrics"] == [*METRICS]
    assert [made["metric"] for made in body["headline"]["metrics"]] == [*METRICS]
    assert body["headline"]["metrics"][0]["coverage"] == 1.0
    assert client.get(f"/api/v1/runs/{body['head']['id']}").json() == body
    assert client.get("/api/v1/runs/last~1").json() == body


def test_rows_are_filtered_sorted_and_paged(client):
    def found(**parameters):
        response = client.get("/api/v1/runs/before/samples", params=parameters)
        return valid(client, "/runs/{run}/samples", "get", response)

    assert found()["total"] == 12
    lowest = [
        row["cells"]["content_f1"]["value"] for row in found(metric="content_f1", sort="lowest")["rows"]
    ]
    assert lowest == sorted(lowest)
    page = found(size=5, page=3)
    assert ([row["position"] for row in page["rows"]], page["pages"]) == ([10, 11], 3)
    assert {row["label"] for row in found(label="false")["rows"]} == {False}
    assert found(by="topic", **{"is": "poets"})["total"] == 4
    assert found(q="rivers")["total"] < 12
    bound = found(metric="content_f1", low=0.2)
    assert all(row["cells"]["content_f1"]["value"] >= 0.2 for row in bound["rows"])


@pytest.mark.parametrize(
    ("parameters", "status", "message"),
    [
        ({"size": "100000"}, 422, "size"),
        ({"sort": "lowest"}, 400, "metric"),
        ({"metric": "nope", "sort": "lowest"}, 400, "nope"),
    ],
)
def test_parameters_that_make_no_sense_are_named(client, parameters, status, message):
    response = client.get("/api/v1/runs/before/samples", params=parameters)
    body = valid(client, "/runs/{run}/samples", "get", response)
    assert response.status_code == status
    assert message in json.dumps(body["error"])


def test_a_sample_is_found_by_any_id(client):
    from urllib.parse import quote

    for name in ("item-1", HOSTILE):
        response = client.get(f"/api/v1/runs/before/samples/{quote(name, safe='')}")
        body = valid(client, "/runs/{run}/samples/{sample_id}", "get", response)
        assert body["id"] == name
    assert body["contexts"][0].startswith("Item 3")
    assert body["scores"]["content_f1"]["status"] == "ok"


@pytest.mark.parametrize(
    "path",
    ["/runs/nope", "/runs/nope/samples", "/runs/before/samples/item-99", "/compare?base=before&new=nope"],
)
def test_what_is_not_there_is_404(client, path):
    response = client.get(f"/api/v1{path}")
    assert response.status_code == 404
    assert response.json()["error"]["message"]


def test_two_runs_are_compared(client):
    response = client.get("/api/v1/compare", params={"base": "before", "new": "after", "changed": 2})
    body = valid(client, "/compare", "get", response)
    first = body["comparison"]["metrics"][0]
    assert first["metric"] == "content_f1"
    assert first["difference"]["difference"] > 0
    assert body["changed"][0]["after"]["response"] == body["changed"][0]["after"]["reference"]


def test_a_run_is_renamed_tagged_and_deleted(client, tmp_path):
    folder = tmp_path
    database = client.app.state.site.database
    run = store_run(client.app.state.site.place, folder, rows(4), name="third", metrics=["content_f1"])
    changed = client.patch("/api/v1/runs/third", json={"name": "renamed", "tags": ["b", "a"]})
    body = valid(client, "/runs/{run}", "patch", changed)
    assert (body["name"], body["tags"]) == ("renamed", ["a", "b"])
    assert client.get("/api/v1/runs", params={"tag": "a"}).json()["total"] == 1
    assert client.patch(f"/api/v1/runs/{run}", json={}).json()["name"] == "renamed"
    taken = client.patch("/api/v1/runs/renamed", json={"name": "before"})
    assert taken.status_code == 400
    assert client.patch("/api/v1/runs/renamed", json={"name": None}).json()["name"] is None
    for vague in ("last", run[:-1]):
        assert client.delete(f"/api/v1/runs/{vague}").status_code == 404
    assert find_run(database, run).id == run
    assert client.delete(f"/api/v1/runs/{run}").status_code == 204
    assert client.get(f"/api/v1/runs/{run}").status_code == 404


def test_the_documentation_is_a_page_without_scripts_of_others(client):
    page = client.get("/api/v1/docs")
    assert page.status_code == 200
    for path in client.get("/api/v1/openapi.json").json()["paths"]:
        assert path in page.text
    assert "http://" not in page.text.replace("http://localhost", "")
    assert "https://" not in page.text
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404


def test_openapi_is_whole(client):
    document = client.get("/api/v1/openapi.json").json()
    assert all(path.startswith("/api/v1/") for path in document["paths"])
    text = json.dumps(document)
    names = {part.partition('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}
    assert names <= document["components"]["schemas"].keys()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], (path, method)
            success = {"200", "204"} & operation["responses"].keys()
            assert success, (path, method)
            if "200" in success:
                assert operation["responses"]["200"]["content"]["application/json"]["schema"], (path, method)


def test_the_costs_of_a_row_are_scored(client):
    costs = {"latency_ms": 1250.5, "prompt_tokens": 812, "completion_tokens": 9, "cost": 0.000015}
    metrics = ["latency", "prompt_tokens", "completion_tokens", "total_tokens", "cost"]
    response = client.post("/api/v1/score", json={"rows": [ROW | costs, ROW], "metrics": metrics})
    assert response.status_code == 200
    given, absent = valid(client, "/score", "post", response)["scores"]
    assert [given[name]["value"] for name in metrics] == [1250.5, 812, 9, 821, 0.000015]
    assert {absent[name]["status"] for name in metrics} == {"missing"}
