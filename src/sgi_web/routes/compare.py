"""Comparison page."""

from __future__ import annotations

import orjson
from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi.analysis.run_differences import RunsDifferError
from sgi.reporting.chart_specs import comparison_charts
from sgi.reporting.views.comparison import ComparisonView, comparison_view
from sgi.reporting.views.runs import run_list
from sgi.store.run_queries import RunRecord  # noqa: TC001 - the same
from sgi_web.errors import status_of
from sgi_web.pages import page, redirect, run_or_404
from sgi_web.paths import with_query
from sgi_web.run_views import compute_together
from sgi_web.site import site_of

router = APIRouter(include_in_schema=False)
_CHOICES = 200
_ALLOW = "allow_different"


@router.get("/compare")
def compare(request: Request) -> Response:
    """Show the differences of two runs, or a form to select the runs if they are not given."""
    parameters = request.query_params
    selection = parameters.getlist("run")
    if selection:
        return _compare_selected(request, selection)
    if not (parameters.get("base") and parameters.get("new")):
        choices = run_list(site_of(request).database, size=_CHOICES)
        return page(
            request,
            "choose.html",
            choices=choices,
            base=parameters.get("base", ""),
            new=parameters.get("new", ""),
        )
    base, new = _base_and_new(request)
    allowed = {_ALLOW: "1"}
    try:
        view = _view(request, base, new)
    except RunsDifferError as error:
        anyway = with_query("/compare", {"base": base.id, "new": new.id} | allowed)
        values = {"base": base.label, "new": new.label, "differences": error.differences, "anyway": anyway}
        return page(request, "different.html", status=status_of(error), **values)
    option = allowed if _ALLOW in parameters else {}
    address = with_query("/compare/charts.json", {"base": base.id, "new": new.id} | option)
    swap = with_query("/compare", {"base": new.id, "new": base.id} | option)
    rows = with_query("/leaderboard", {"run": [base.id, new.id], **option})
    return page(request, "compare.html", view=view, charts=address, swapped=swap, side_by_side=rows)


@router.get("/compare/charts.json")
def charts(request: Request) -> Response:
    """Return the chart spec of the differences."""
    view = _view(request, *_base_and_new(request))
    body = orjson.dumps({"charts": comparison_charts(view)}, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, media_type="application/json")


def _compare_selected(request: Request, selection: list[str]) -> Response:
    """Redirect to the comparison of two selected runs, the older one as the base, or to a leaderboard."""
    site = site_of(request)
    records = [run_or_404(site, run) for run in dict.fromkeys(selection)]
    runs = [record.id for record in sorted(records, key=lambda record: (record.created_at, record.id))]
    if len(runs) == 2:  # noqa: PLR2004 - a pair
        return redirect(with_query("/compare", {"base": runs[0], "new": runs[1]}))
    return redirect(with_query("/leaderboard", {"run": runs}))


def _base_and_new(request: Request) -> tuple[RunRecord, RunRecord]:
    site = site_of(request)
    base, new = (run_or_404(site, request.query_params.get(name, "")) for name in ("base", "new"))
    return base, new


def _view(request: Request, base: RunRecord, new: RunRecord) -> ComparisonView:
    database, allow_different = site_of(request).database, _ALLOW in request.query_params
    return compute_together(
        request,
        [base, new],
        ("comparison", allow_different),
        lambda: comparison_view(database, base, new, allow_different=allow_different),
    )
