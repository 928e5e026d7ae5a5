"""The reference of the HTTP API has every operation, and a server answers its examples."""

import json
import re
import shlex
from contextlib import closing
from importlib import import_module
from urllib.parse import parse_qs, urlsplit

import httpx2
import jsonschema_rs
import pytest

from sgi.service.guard import Guard
from sgi.store.database import open_database
from sgi_traces.live.open_receiver import TraceOptions, open_receiver
from sgi_web.app import create_app
from sgi_web.site import Site
from support.guards import fitted_guard
from support.kept_runs import rows, store_run
from support.scripts import load_script
from support.web_server import serve_site

SECTION = re.compile(r"^### `(\w+) (\S+)`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```console\n\$ (.*?)^```$", re.MULTILINE | re.DOTALL)
DELETED = "name-of-a-run-to-delete"


@pytest.fixture(scope="module")
def page():
    with load_script("make_reference"):
        return import_module("reference_pages.http_api").http_page()


@pytest.fixture(scope="module")
def sections(page):
    """The section of each operation on the page, by method and path."""
    return {(method, path): words for method, path, words in SECTION.findall(page)}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    data = [row | {"id": str(number)} for number, row in enumerate(rows(8), 1)]
    for name in (DELETED, "before", "after"):
        store_run(folder / "sgi.db", folder, data, name=name, metrics=["content_f1"])
    with (
        open_database(folder / "sgi.db") as database,
        closing(open_receiver(database, TraceOptions(metrics=["content_f1"]))) as receiver,
    ):
        yield Site(database=database, scoring=True, receiver=receiver, guard=Guard(fitted_guard()))


@pytest.fixture(scope="module")
def operations(site):
    paths = create_app(site).openapi()["paths"]
    return {
        (method.upper(), path): each for path, methods in paths.items() for method, each in methods.items()
    }


def parsed(section):
    """Method, path, query and body of the command in a section."""
    words = iter(shlex.split(EXAMPLE.search(section)[1])[1:])
    method, url, body = None, None, None
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            assert next(words) == "Content-Type: application/json"
        elif word == "-d":
            body = next(words)
        elif word != "-s":
            url = urlsplit(word)
    return method or ("GET" if body is None else "POST"), url.path, parse_qs(url.query), body


def test_every_operation_and_its_parameters_are_on_the_page(sections, operations):
    assert sections.keys() == operations.keys()
    for key, operation in operations.items():
        names = [each["name"] for each in operation.get("parameters", ())]
        names += body_schema(operation).get("properties", {})
        cells = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", sections[key], re.MULTILINE)
        described = {name for name, meaning in cells if meaning.strip()}
        assert described >= {*names, *operation["responses"]}, key


def test_every_field_of_every_type_is_described(page, site):
    for name, schema in create_app(site).openapi()["components"]["schemas"].items():
        section = page.partition(f"\n### {name}\n")[2].partition("\n##")[0]
        described = re.findall(r"^\| `(\w+)` \| [^|]+ \| [A-Z0-9`].*\. \|$", section, re.MULTILINE)
        assert {*described} == {*schema.get("properties", {})}, name


def body_schema(operation):
    return operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})


def test_the_examples_match_the_description(sections, operations):
    for (method, path), section in sections.items():
        operation = operations[method, path]
        sent, where, query, body = parsed(section)
        assert sent == method
        assert re.fullmatch(re.sub(r"\{\w+\}", "[^/{}]+", path), where)
        parameters = {each["name"]: each for each in operation.get("parameters", ()) if each["in"] == "query"}
        assert query.keys() >= {name for name, each in parameters.items() if each["required"]}
        assert query.keys() <= parameters.keys()
        assert (body is None) == ("requestBody" not in operation)
        if body is not None:
            jsonschema_rs.validate(body_schema(operation), json.loads(body))


def test_a_server_answers_the_examples(site, sections):
    statuses = {}
    with serve_site(site) as address, httpx2.Client(base_url=address, timeout=60) as client:
        for key, section in sections.items():
            method, path, query, body = parsed(section)
            headers = {} if body is None else {"Content-Type": "application/json"}
            reply = client.request(method, path, params=query, content=body, headers=headers)
            statuses[key] = reply.status_code
            assert f"\n| `{reply.status_code}` |" in section, (key, reply.text)
        left = client.get("/api/v1/runs").json()
    assert statuses == {key: 204 if key[0] == "DELETE" else 200 for key in sections}
    assert [run["name"] for run in left["runs"]] == ["after", "before"]
    assert left["runs"][0]["tags"] == ["nightly", "reviewed"]


@pytest.mark.parametrize(
    ("operation", "right"),
    [(("POST", "/api/v1/score"), "read"), (("DELETE", "/api/v1/runs/{run}"), "edit")],
)
def test_the_needed_right_is_on_the_page(sections, operation, right):
    assert f"\n**Needed right:** {right}.\n" in sections[operation]
