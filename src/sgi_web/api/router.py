"""Routes of the API: scoring, runs, rows and comparisons."""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from sgi.kernel.details import details_schema, first_line, inline_references
from sgi.kernel.errors import ScorerClosedError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import AnyMetric, Score
from sgi.kernel.registry import metric_classes
from sgi.reporting.views.comparison import comparison_view
from sgi.reporting.views.row_view import sample_view
from sgi.reporting.views.to_json import as_json
from sgi.service.guard import Guard
from sgi.store.manage_runs import Change, change_run, delete_run
from sgi.store.run_queries import page_of_runs
from sgi_web.api import api_models
from sgi_web.api.bodies import check_size, read_body, read_model, read_score_request
from sgi_web.api.operations import server_metrics
from sgi_web.cached_views import cached_headline, cached_rows
from sgi_web.error_responses import json_response
from sgi_web.pages import NotFoundError, Record, run_or_404
from sgi_web.pages import page as page_of
from sgi_web.routes.comparisons import LeaderboardParameters, cached_leaderboard
from sgi_web.routes.otlp import receiver_of
from sgi_web.row_table import MAX_PAGE, RowParameters
from sgi_web.site import requested_sample, site_of

_WHY = {
    400: "The request is not valid.",
    401: "The token is missing or wrong.",
    403: "The token may only read, or the request comes from a page of another site.",
    404: "The run or sample does not exist, or the server does not have what the route needs.",
    413: "The body is too large.",
    415: "The Content-Type is not JSON.",
    422: "A parameter or a row is not valid; the error names it.",
    503: "The database or the scorer is unavailable.",
}


Responses = dict[int | str, dict[str, Any]]
"""Responses of a route by status, as FastAPI takes them."""


def _errors(*codes: int) -> Responses:
    """Return error responses for OpenAPI."""
    return {code: {"model": api_models.ErrorResponse, "description": _WHY[code]} for code in codes}


def _responses(model: type[BaseModel], *problems: int) -> Responses:
    """Return the responses of a route for OpenAPI, beside the errors of every route."""
    return {200: {"model": model}} | _errors(*problems)


router = APIRouter(prefix="/api/v1", responses=_errors(400, 401, 422, 503))


def _request_body(model: type[BaseModel], examples: Mapping[str, object]) -> dict[str, object]:
    """Return the request body for OpenAPI, for a route that parses its body itself; examples by title."""
    schema = model.model_json_schema()
    whole = inline_references(schema, schema.pop("$defs", {}))
    values = {title: {"summary": title, "value": value} for title, value in examples.items()}
    content = {"application/json": {"schema": whole, "examples": values}}
    return {"requestBody": {"required": True, "content": content}}


_ROW = {"question": "Who wrote Emma?", "contexts": ["Jane Austen wrote Emma."], "response": "Austen."}
_SCORED = {"One row": {"rows": [_ROW], "metrics": ["sgi", "grounding"]}}
_CHECKED = {"An answer": _ROW | {"response": "Charlotte Brontë wrote it."}}
_CHANGED = {"No change": {}, "New tags": {"tags": ["nightly", "reviewed"]}, "New name": {"name": "baseline"}}

RunToDelete = Annotated[
    str, Path(description="The full id or the full name.", examples=["name-of-a-run-to-delete"])
]
SampleId = Annotated[str, Path(description="Id of the row, percent-encoded.", examples=["1"])]


Body = Annotated[bytes, Depends(read_body)]


@router.post(
    "/score",
    tags=["Scoring"],
    responses=_responses(api_models.ScoreResponse, 403, 413, 415),
    openapi_extra=_request_body(api_models.ScoreRequest, _SCORED),
)
async def score(request: Request, body: Body) -> Response:
    """Score up to 256 rows with metrics that need no judge. Nothing is stored."""
    scorer = site_of(request).scorer
    if scorer is None:
        raise ScorerClosedError("Scoring is disabled on this server.", hint="Start it with `sgi serve`.")
    samples, metrics, with_details = read_score_request(body)
    used = {metric.canonical: metric if with_details else metric.without_details() for metric in metrics}
    computed = tuple({metric.canonical: metric for metric in used.values()}.values())
    scorer.require_open(computed)
    await check_size(samples, computed)
    found = (await scorer.score_batch(samples, computed)).scores
    scores = {name: found[metric.canonical] for name, metric in used.items()}
    for metric in metrics:
        server_metrics(request).count_scores(metric.spec.name, scores[metric.canonical])
    rows = [
        {"id": sample.id}
        | {name: _cell(values.row(n), details=with_details) for name, values in scores.items()}
        for n, sample in enumerate(samples)
    ]
    return json_response({"signature": scorer.signature(len(rows), metrics), "scores": rows})


def _guard_of(request: Request) -> Guard:
    """Return the guard of the server. Raises NotFoundError if it has none."""
    guard = site_of(request).guard
    if guard is None:
        hint = "Start it with `sgi serve --guard FILE`; `sgi guard fit` makes a file."
        raise NotFoundError("This server has no guard.", hint=hint)
    return guard


@router.post(
    "/guard",
    tags=["Guard"],
    responses=_responses(api_models.GuardDecision, 403, 404, 413, 415),
    openapi_extra=_request_body(api_models.GuardRequest, _CHECKED),
)
async def check(request: Request, body: Body) -> Response:
    """Decide whether an answer is blocked. It is counted, and its texts are not stored.

    If the sender may edit, it is also tested as traffic, which can withdraw the promise for all clients.
    """
    guard = _guard_of(request)
    given = read_model(body, api_models.GuardRequest)
    is_traffic = request.state.person.may_edit
    async with request.app.state.guard_throttle.acquire():
        verdict = await guard.acheck(given.question, given.contexts, given.response, observe=is_traffic)
    return json_response({name: getattr(verdict, name) for name in api_models.GuardDecision.model_fields})


@router.get("/guard", tags=["Guard"], responses=_responses(api_models.GuardFacts, 404))
def guard(request: Request) -> Response:
    """Return what the guard was fitted on, what it promises, and how many answers it has seen."""
    found = _guard_of(request)
    names = ("digest", "limit", "promise", "confidence", "questions", "caught")
    facts = found.file.model_dump(mode="json", include={*names})
    live = {"on_error": found.on_error, "withdrawn": found.withdrawn, "counts": as_json(found.counts)}
    return json_response(facts | live)


@router.get("/metrics", tags=["Scoring"], responses={200: {"model": list[api_models.MetricFacts]}})
def metrics() -> Response:
    """List all metrics."""
    classes, _ = metric_classes()
    return json_response([_facts(kind) for kind in classes.values()])


@router.get("/runs", tags=["Runs"], responses=_responses(api_models.RunListModel))
def runs(
    request: Request,
    search: Annotated[str, Query(max_length=1000, description="Text in the id, name, data or tags.")] = "",
    tag: Annotated[str | None, Query(max_length=1000, description="Only runs with this tag.")] = None,
    page: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Number of the page, from 1.")] = 1,
    size: Annotated[int, Query(ge=1, le=10_000, description="Runs per page.")] = 50,
) -> Response:
    """List runs, newest first."""
    found = page_of_runs(site_of(request).database, search=search, tag=tag, page=page, size=size)
    same = {"total": found.total, "page": found.page, "pages": found.pages, "search": search, "tag": tag}
    return json_response(as_json({"runs": found.records, **same, "tags": found.tags}))


@router.get("/runs/{run}", tags=["Runs"], responses=_responses(api_models.RunModel, 404))
def run(request: Request, record: Record) -> Response:
    """Return a run and its summary. `run` is an id, a name or `last`."""
    headline = cached_headline(request, record)
    return json_response({"head": as_json(record), "headline": as_json(headline)})


@router.patch(
    "/runs/{run}",
    tags=["Runs"],
    responses=_responses(api_models.HeadModel, 403, 404, 413, 415),
    openapi_extra=_request_body(api_models.ChangeRequest, _CHANGED),
)
def change(request: Request, record: Record, body: Body) -> Response:
    """Change the name or the tags of a run."""
    given = read_model(body, api_models.ChangeRequest)
    changes = Change() if given.tags is None else Change(tags=given.tags)
    if "name" in given.model_fields_set:
        changes["name"] = given.name
    change_run(site_of(request).database, record.id, **changes)
    return json_response(as_json(run_or_404(request, record.id)))


@router.delete("/runs/{run}", tags=["Runs"], status_code=204, responses=_errors(403, 404))
def delete(request: Request, run: RunToDelete) -> Response:
    """Delete a run and its scores. `run` must be the full id or the full name."""
    record = run_or_404(request, run)
    if run not in {record.id, record.name}:
        hint = f"Did you mean {record.label!r}? Use the full name or id."
        raise NotFoundError(f"The run {run!r} does not exist.", hint=hint)
    delete_run(site_of(request).database, record.id)
    return Response(status_code=204)


@router.get("/runs/{run}/samples", tags=["Runs"], responses=_responses(api_models.RowPageModel, 404))
def samples(request: Request, record: Record, parameters: Annotated[RowParameters, Query()]) -> Response:
    """List rows of a run, filtered, sorted and paginated."""
    return json_response(as_json(cached_rows(request, record, parameters.query())))


@router.get(
    "/runs/{run}/samples/{sample_id:anything}",
    tags=["Runs"],
    responses=_responses(api_models.SampleModel, 404),
)
def sample(request: Request, record: Record, sample_id: SampleId) -> Response:
    """Return one row with all its texts and scores. Percent-encode the id."""
    del sample_id  # read from the raw path: ids need not be valid Unicode
    view = sample_view(site_of(request).database, record, requested_sample(request))
    return json_response(as_json(view))


@router.get("/otlp", tags=["Traces"], responses=_responses(api_models.TraceStatusModel, 404))
def otlp(request: Request) -> Response:
    """Return the counts of received traces by outcome."""
    return json_response(as_json(receiver_of(request).status()))


@router.get("/compare", tags=["Comparisons"], responses=_responses(api_models.ComparisonModel, 404))
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
    runs = run_or_404(request, base), run_or_404(request, new)
    database = site_of(request).database
    view = comparison_view(database, *runs, changed=changed, allow_different=allow_different)
    return json_response(as_json(view))


@router.get("/leaderboard", tags=["Comparisons"], responses=_responses(api_models.LeaderboardModel, 404))
def leaderboard(request: Request, parameters: Annotated[LeaderboardParameters, Query()]) -> Response:
    """Rank several runs, or the systems of one run, with letters, groups and a Pareto front."""
    return json_response(as_json(cached_leaderboard(request, parameters)))


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> Response:
    """Show the API as forms that can be sent; without scripts, as text."""
    return page_of(request, "api.html", document=request.app.openapi())


def _cell(score: Score, *, details: bool) -> dict[str, object]:
    cell: dict[str, object] = {"value": score.value, "status": score.status.value, "reason": score.reason}
    return cell | {"details": as_json(score.details)} if details else cell


def _facts(kind: type[AnyMetric]) -> dict[str, object]:
    spec = kind.spec
    same = ("name", "higher_is_better", "unit", "version", "citation")
    return {name: getattr(spec, name) for name in same} | {
        "summary": first_line(kind),
        "needs": sorted(spec.needs),
        "low": spec.low if math.isfinite(spec.low) else None,
        "high": spec.high if math.isfinite(spec.high) else None,
        "judged": issubclass(kind, JudgedMetric),
        "details": details_schema(spec.details),
    }
