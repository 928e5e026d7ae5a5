"""Routes of the API: scoring, runs, rows and comparisons."""

import math
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from sgi.kernel.details import details_schema, inline_references
from sgi.kernel.docstrings import first_line
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import AnyMetric, Score
from sgi.kernel.registry import metric_classes
from sgi.reporting.views.comparison import comparison_view
from sgi.reporting.views.run_header import run_header
from sgi.reporting.views.runs import run_list
from sgi.reporting.views.sample import sample_view
from sgi.reporting.views.to_json import as_json
from sgi.service.scorer import ScorerClosedError
from sgi.store.manage_runs import Change, change_run, delete_run
from sgi_web.api.bodies import read_body, read_model, read_score_request
from sgi_web.api.models import (
    ComparisonModel,
    ErrorResponse,
    HeadModel,
    LeaderboardModel,
    MetricFacts,
    RowPageModel,
    RunChange,
    RunListModel,
    RunModel,
    SampleModel,
    ScoreRequest,
    ScoreResponse,
    TraceStatusModel,
)
from sgi_web.api.operations import server_metrics
from sgi_web.api.score_size import check_size
from sgi_web.errors import json_response
from sgi_web.leaderboard_parameters import LeaderboardParameters
from sgi_web.pages import NotFoundError, run_or_404
from sgi_web.pages import page as page_of
from sgi_web.paths import requested_sample
from sgi_web.routes.leaderboard import cached_leaderboard
from sgi_web.row_parameters import RowParameters
from sgi_web.run_views import cached_headline, cached_rows
from sgi_web.site import site_of

Documented = dict[int | str, dict[str, Any]]

_WHY = {
    400: "The request is not valid.",
    401: "The token is missing or wrong.",
    403: "The token may only read, or the request comes from a page of another site.",
    404: "The run or sample does not exist.",
    413: "The body is too large.",
    415: "The Content-Type is not JSON.",
    422: "A parameter or a row is not valid; the error names it.",
    503: "The database or the scorer is unavailable.",
}
_LARGEST = 10_000

router = APIRouter(prefix="/api/v1")


def _responses(model: type[BaseModel], *problems: int) -> Documented:
    """Return the responses of a route for OpenAPI."""
    codes = sorted({400, 401, 422, 503, *problems})
    documented: Documented = {code: {"model": ErrorResponse, "description": _WHY[code]} for code in codes}
    return {200: {"model": model}, **documented}


def _request_body(model: type[BaseModel], examples: dict[str, Any]) -> dict[str, Any]:
    """Return the request body for OpenAPI, for a route that parses its body itself; examples by title."""
    schema = model.model_json_schema()
    whole = inline_references(schema, schema.pop("$defs", {}))
    values = {title: {"summary": title, "value": value} for title, value in examples.items()}
    content = {"application/json": {"schema": whole, "examples": values}}
    return {"requestBody": {"required": True, "content": content}}


_SCORED = {
    "One row": {
        "rows": [
            {
                "id": "emma",
                "question": "Who wrote Emma?",
                "contexts": ["Emma is a novel by Jane Austen."],
                "response": "Jane Austen wrote Emma.",
            }
        ],
        "metrics": ["sgi", "grounding"],
    }
}
_CHANGED = {"No change": {}, "New tags": {"tags": ["nightly", "reviewed"]}, "New name": {"name": "baseline"}}

Run = Annotated[
    str, Path(description="Id, name, `last`, or `last~1` for the run before it.", examples=["last"])
]
RunToDelete = Annotated[
    str, Path(description="The full id or the full name.", examples=["name-of-a-run-to-delete"])
]
SampleId = Annotated[str, Path(description="Id of the row, percent-encoded.", examples=["1"])]


@router.post(
    "/score",
    tags=["Scoring"],
    responses=_responses(ScoreResponse, 403, 413, 415),
    openapi_extra=_request_body(ScoreRequest, _SCORED),
)
async def score(request: Request) -> Response:
    """Score up to 256 rows with metrics that need no judge. Nothing is stored."""
    scorer = site_of(request).scorer
    if scorer is None:
        raise ScorerClosedError(
            "Scoring is disabled on this server.", hint="Start the server with `sgi serve`."
        )
    score_input = read_score_request(await read_body(request))
    samples, metrics = score_input.samples, score_input.metrics
    scorer.require_open(metrics)
    await check_size(samples, metrics)
    scores = (await scorer.score_batch(samples, metrics)).scores
    for metric in metrics:
        server_metrics(request).count_scores(metric.spec.name, scores[metric.canonical])
    rows = [
        {"id": sample.id}
        | {name: _cell(values.row(row), details=score_input.details) for name, values in scores.items()}
        for row, sample in enumerate(samples)
    ]
    return json_response({"signature": scorer.signature(len(rows), metrics), "scores": rows})


@router.get(
    "/metrics",
    tags=["Scoring"],
    responses={
        200: {"model": list[MetricFacts]},
        401: {"model": ErrorResponse, "description": _WHY[401]},
    },
)
def metrics() -> Response:
    """List all metrics."""
    classes, _ = metric_classes()
    return json_response([_facts(kind) for kind in classes.values()])


@router.get("/runs", tags=["Runs"], responses=_responses(RunListModel))
def runs(
    request: Request,
    search: Annotated[str, Query(max_length=1000, description="Text in the id, name, data or tags.")] = "",
    tag: Annotated[str | None, Query(max_length=1000, description="Only runs with this tag.")] = None,
    page: Annotated[int, Query(ge=1, le=10**9, description="Number of the page, from 1.")] = 1,
    size: Annotated[int, Query(ge=1, le=_LARGEST, description="Runs per page.")] = 50,
) -> Response:
    """List runs, newest first."""
    view = run_list(site_of(request).database, search=search, tag=tag, page=page, size=size)
    return json_response(as_json(view))


@router.get("/runs/{run}", tags=["Runs"], responses=_responses(RunModel, 404))
def run(request: Request, run: Run) -> Response:
    """Return a run and its summary. `run` is an id, a name or `last`."""
    record = run_or_404(site_of(request), run)
    return json_response(
        {"head": as_json(run_header(record)), "headline": as_json(cached_headline(request, record))}
    )


@router.patch(
    "/runs/{run}",
    tags=["Runs"],
    responses=_responses(HeadModel, 403, 404, 413, 415),
    openapi_extra=_request_body(RunChange, _CHANGED),
)
async def change(request: Request, run: Run) -> Response:
    """Change the name or the tags of a run."""
    change = read_model(await read_body(request), RunChange)
    return await anyio.to_thread.run_sync(_apply_change, request, run, change)


def _apply_change(request: Request, run: str, run_change: RunChange) -> Response:
    site = site_of(request)
    record = run_or_404(site, run)
    change = Change() if run_change.tags is None else Change(tags=run_change.tags)
    if "name" in run_change.model_fields_set:
        change["name"] = run_change.name
    change_run(site.database, record.id, **change)
    return json_response(as_json(run_header(run_or_404(site, record.id))))


@router.delete(
    "/runs/{run}",
    tags=["Runs"],
    status_code=204,
    responses={code: answer for code, answer in _responses(ErrorResponse, 403, 404).items() if code != 200},  # noqa: PLR2004 - HTTP status
)
def delete(request: Request, run: RunToDelete) -> Response:
    """Delete a run and its scores. `run` must be the full id or the full name."""
    site = site_of(request)
    record = run_or_404(site, run)
    if run not in {record.id, record.name}:
        raise NotFoundError(
            f"The run {run!r} does not exist.",
            hint=f"Did you mean {record.label!r}? Use the full name or id.",
        )
    delete_run(site.database, record.id)
    return Response(status_code=204)


@router.get("/runs/{run}/samples", tags=["Runs"], responses=_responses(RowPageModel, 404))
def samples(request: Request, run: Run, parameters: Annotated[RowParameters, Query()]) -> Response:
    """List rows of a run, filtered, sorted and paginated."""
    record = run_or_404(site_of(request), run)
    return json_response(as_json(cached_rows(request, record, parameters.query())))


@router.get("/runs/{run}/samples/{sample_id:anything}", tags=["Runs"], responses=_responses(SampleModel, 404))
def sample(request: Request, run: Run, sample_id: SampleId) -> Response:
    """Return one row with all its texts and scores. Percent-encode the id."""
    del sample_id  # read from the raw path: ids need not be valid Unicode
    site = site_of(request)
    return json_response(
        as_json(sample_view(site.database, run_or_404(site, run), requested_sample(request)))
    )


@router.get("/otlp", tags=["Traces"], responses=_responses(TraceStatusModel, 404))
def otlp(request: Request) -> Response:
    """Return the counts of received traces by outcome."""
    receiver = site_of(request).receiver
    if receiver is None:
        raise NotFoundError("This server does not receive traces: start it with `sgi serve --otlp`.")
    return json_response(as_json(receiver.status()))


@router.get("/compare", tags=["Comparisons"], responses=_responses(ComparisonModel, 404))
def compare(
    request: Request,
    base: Annotated[str, Query(max_length=1000, description="The base run.", examples=["last~1"])],
    new: Annotated[str, Query(max_length=1000, description="The new run.", examples=["last"])],
    changed: Annotated[
        int, Query(ge=0, le=100, description="Number of most changed rows to return for each metric.")
    ] = 5,
    *,
    allow_different: Annotated[
        bool, Query(description="Compare runs even if they differ in more than their responses.")
    ] = False,
) -> Response:
    """Compare two runs, row by row."""
    site = site_of(request)
    runs = run_or_404(site, base), run_or_404(site, new)
    view = comparison_view(site.database, *runs, changed=changed, allow_different=allow_different)
    return json_response(as_json(view))


@router.get("/leaderboard", tags=["Comparisons"], responses=_responses(LeaderboardModel, 404))
def leaderboard(request: Request, parameters: Annotated[LeaderboardParameters, Query()]) -> Response:
    """Rank several runs, or the systems of one run, with letters, groups and a Pareto front."""
    return json_response(as_json(cached_leaderboard(request, parameters)))


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> Response:
    """Show the API as forms that can be sent; without scripts, as text."""
    return page_of(request, "api.html", document=request.app.openapi())


def _cell(score: Score, *, details: bool) -> dict[str, Any]:
    cell = {"value": score.value, "status": score.status.value, "reason": score.reason}
    return cell | {"details": as_json(score.details)} if details else cell


def _facts(kind: type[AnyMetric]) -> dict[str, Any]:
    spec = kind.spec
    return {
        "name": spec.name,
        "summary": first_line(kind),
        "needs": sorted(spec.needs),
        "low": spec.low if math.isfinite(spec.low) else None,
        "high": spec.high if math.isfinite(spec.high) else None,
        "higher_is_better": spec.higher_is_better,
        "unit": spec.unit,
        "version": spec.version,
        "judged": issubclass(kind, JudgedMetric),
        "citation": spec.citation,
        "details": details_schema(spec.details),
    }
