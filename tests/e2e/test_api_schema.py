"""The JSON API against its own description: requests made of the schema, and requests that break it."""

from contextlib import closing

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from starlette.testclient import TestClient

from sgi.service.guard import Guard
from sgi.store.database import open_database
from sgi_traces.live.open_receiver import TraceOptions, open_receiver
from sgi_web.app import create_app
from sgi_web.site import Site
from support.guards import fitted_guard
from support.kept_runs import rows, store_run

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
    allow_header_conformance,
]
FEW = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[*HealthCheck],
)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema")
    for name in ("before", "after"):
        store_run(folder / "sgi.db", folder, rows(8), name=name, metrics=["content_f1"])
    with (
        open_database(folder / "sgi.db") as database,
        closing(open_receiver(database, TraceOptions(metrics=["content_f1"]))) as receiver,
        TestClient(
            create_app(Site(database=database, scoring=True, receiver=receiver, guard=Guard(fitted_guard()))),
            base_url="http://localhost",
        ) as made,
    ):
        yield made


OPERATIONS = [
    ("POST", "/api/v1/score"),
    ("POST", "/api/v1/guard"),
    ("GET", "/api/v1/guard"),
    ("GET", "/api/v1/metrics"),
    ("GET", "/api/v1/runs"),
    ("GET", "/api/v1/runs/{run}"),
    ("PATCH", "/api/v1/runs/{run}"),
    ("DELETE", "/api/v1/runs/{run}"),
    ("GET", "/api/v1/runs/{run}/samples"),
    ("GET", "/api/v1/runs/{run}/samples/{sample_id}"),
    ("GET", "/api/v1/compare"),
    ("GET", "/api/v1/leaderboard"),
    ("GET", "/api/v1/otlp"),
]

REFUSING = [OPERATIONS[at] for at in (0, 1, 4, 6, 8, 10, 11)]
"""The others take any text, and any text is a valid one."""


@pytest.fixture(scope="module")
def schema(client):
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", client.app)


def test_every_operation_is_tried(schema):
    found = {(entry.ok().method.upper(), entry.ok().path) for entry in schema.get_all_operations()}
    assert found == {*OPERATIONS}


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [(*operation, GenerationMode.POSITIVE) for operation in OPERATIONS]
    + [(*operation, GenerationMode.NEGATIVE) for operation in REFUSING],
)
def test_answers_are_what_the_schema_says(client, schema, method, path, mode):
    cases = schema[path][method].as_strategy(generation_mode=mode)

    @FEW
    @given(case=cases)
    def tried(case):
        if mode is GenerationMode.POSITIVE:
            name_what_is_there(case)
        response = case.call(session=client, headers={"Host": "localhost"})
        too_large = response.status_code == 413  # a refusal that `negative_data_rejection` does not know
        case.validate_response(
            response, checks=CHECKS, excluded_checks=[negative_data_rejection] if too_large else None
        )

    tried()


def name_what_is_there(case):
    """Runs and a row that there are, so that more than the answer 404 is seen."""
    if case.method != "DELETE":  # what is deleted answers nothing any more
        known = {"run": "before", "sample_id": "item-1"}
        case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
    if case.path.endswith("/compare"):
        case.query |= {"base": "before", "new": "after"}
    if case.path.endswith("/leaderboard"):
        case.query |= {"run": ["before", "after"]}
    if case.method == "PATCH" and isinstance(case.body, dict):
        case.body.pop("name", None)
