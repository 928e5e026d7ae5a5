"""The progress of uploads: follow, cancel and resume them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi_web.access import OWN_FORM
from sgi_web.jobs import jobs_of
from sgi_web.pages import NotFoundError, is_htmx, page, redirect
from sgi_web.paths import run_path, segment

if TYPE_CHECKING:
    from sgi_web.job_records import Job

router = APIRouter(include_in_schema=False)

_UNKNOWN = "This upload does not exist. The list of runs shows finished uploads."


@router.get("/running/{job_id}")
def running(request: Request, job_id: str) -> Response:
    """Show the progress of an upload, or redirect to its run at the end."""
    job = _job_or_404(request, job_id)
    if job.state == "finished" and job.run is not None:
        path = run_path(job.run)
        return Response(headers={"HX-Redirect": path}) if is_htmx(request) else redirect(path)
    return page(request, "running.html", job=job)


@router.post("/running/{job_id}/cancel", dependencies=[OWN_FORM])
def cancel(request: Request, job_id: str) -> Response:
    """Cancel an upload; what is scored stays. An upload that has ended stays as it is."""
    job = _job_or_404(request, job_id)
    jobs_of(request).cancel(job)
    return redirect(f"/running/{segment(job.id)}")


@router.post("/running/{job_id}/resume", dependencies=[OWN_FORM])
def resume(request: Request, job_id: str) -> Response:
    """Resume an upload that ended early; another upload stays as it is."""
    job = _job_or_404(request, job_id)
    jobs_of(request).resume(job)
    return redirect(f"/running/{segment(job.id)}")


def _job_or_404(request: Request, job_id: str) -> Job:
    job = jobs_of(request).find(job_id)
    if job is None:
        raise NotFoundError(_UNKNOWN)
    return job
