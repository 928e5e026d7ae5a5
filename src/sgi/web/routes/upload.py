"""Upload files and follow their progress."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, UploadFile
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi.engine.spec import RunSpec
from sgi.kernel.errors import SgiError, UsageError
from sgi.store.run_names import checked_tags
from sgi.web.jobs import Jobs, jobs_of, split_tags
from sgi.web.pages import error_page, is_htmx, page, redirect
from sgi.web.paths import run_path, segment
from sgi.web.security import check_form
from sgi.web.site import Site, site_of
from sgi.web.uploads import SUFFIXES, file_name, offline_metrics, save_upload
from sgi.web.users import Role, record_action, require_role

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Form()]
Texts = Annotated[list[str] | None, Form()]
_EDITOR = Depends(require_role(Role.EDITOR))
Sent = Annotated[UploadFile | None, File()]


@router.get("/upload", dependencies=[_EDITOR])
def ask(request: Request) -> Response:
    """Show the form."""
    return _form(request)


@router.post("/upload", dependencies=[_EDITOR, Depends(check_form)])
def send(
    request: Request, file: Sent = None, metrics: Texts = None, name: Text = "", tags: Text = ""
) -> Response:
    """Store a file and queue it; errors are shown above the form."""
    fields = {"name": name, "tags": tags, "metrics": metrics or []}
    if file is None or not file.filename:
        return _form(request, status=400, problem="No file was chosen.", **fields)
    try:
        job = _submit(site_of(request), jobs_of(request), file, fields)
    except UsageError as error:
        return _form(request, status=400, problem=str(error), **fields)
    except SgiError as error:
        return _form(request, status=503, problem=str(error), **fields)
    record_action(request, "upload", file_name(file.filename), f"upload {job}")
    return redirect(f"/running/{segment(job)}")


@router.get("/running/{job}")
def running(request: Request, job: str) -> Response:
    """Show the progress of an upload, or redirect to its run at the end."""
    upload = jobs_of(request).find(job)
    if upload is None:
        message = "This upload does not exist. The list of runs shows finished uploads."
        return error_page(request, 404, message)
    if upload.state == "finished" and upload.run is not None:
        path = run_path(upload.run)
        return Response(headers={"HX-Redirect": path}) if is_htmx(request) else redirect(path)
    return page(request, "running.html", job=upload)


def _submit(site: Site, jobs: Jobs, file: UploadFile, fields: dict[str, Any]) -> str:
    """Queue a job and return its id; files that cannot be scored are deleted."""
    tags = checked_tags(split_tags(fields["tags"]))
    unknown = set(fields["metrics"]) - set(offline_metrics())
    if unknown:
        raise UsageError(
            f"{min(unknown)!r} is not an available metric.", hint="Select metrics from the list."
        )
    shown = file_name(file.filename)
    path = save_upload(site, file.file, shown)
    try:
        spec = RunSpec(
            data=path,
            metrics=tuple(fields["metrics"]) or None,
            embedders=site.embedders,
            backend=site.backend,
            precision=site.precision,
            long_texts=site.long_texts,
            name=fields["name"].strip() or None,
        )
        return jobs.submit(spec, shown, tags).id
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _form(request: Request, *, status: int = 200, problem: str = "", **fields: Any) -> Response:
    defaults = {"name": "", "tags": "", "metrics": ()}
    facts = {"choices": offline_metrics(), "kinds": SUFFIXES, "limit": site_of(request).upload_limit}
    return page(request, "upload.html", status=status, problem=problem, **(defaults | fields | facts))
