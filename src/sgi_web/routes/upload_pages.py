"""Upload a file, check how it is read, score it, and follow its progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, File, Form, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from sgi.kernel.errors import SgiError, UsageError
from sgi.kernel.registry import DEFAULTS
from sgi_web import upload_form
from sgi_web.access import EDITOR, OWN_FORM
from sgi_web.error_responses import status_of
from sgi_web.pages import is_htmx, page, redirect
from sgi_web.site import run_path, site_of
from sgi_web.upload_form import UploadForm
from sgi_web.uploads import SUFFIXES, file_name, uploads_of

if TYPE_CHECKING:
    from sgi_web.uploads import Upload

router = APIRouter(include_in_schema=False, dependencies=[EDITOR])


@router.get("/upload")
def ask(request: Request) -> Response:
    """Show the form for a file."""
    return _file_page(request)


@router.post("/upload", dependencies=[OWN_FORM])
def send(request: Request, file: Annotated[UploadFile | None, File()] = None) -> Response:
    """Store a file, and redirect to its preview; errors are shown above the form."""
    try:
        if file is None or not file.filename:
            raise UsageError("No file was chosen.")
        upload = uploads_of(request).add(file.file, file_name(file.filename))
    except SgiError as error:
        return _file_page(request, error)
    return redirect(f"/upload/{upload.id}")


@router.get("/upload/{upload_id}")
def show(request: Request, upload_id: str) -> Response:
    """Show the first rows of a file and the form of its run, or the progress of the run."""
    upload = uploads_of(request).find(upload_id)
    if upload.state == "preview":
        return _preview_page(request, upload, UploadForm(metrics=DEFAULTS))
    if upload.state == "finished" and upload.run is not None:
        path = run_path(upload.run)
        return Response(headers={"HX-Redirect": path}) if is_htmx(request) else redirect(path)
    return page(request, "running.html", upload=upload)


@router.post("/upload/{upload_id}", dependencies=[OWN_FORM])
def submit(request: Request, upload_id: str, form: Annotated[UploadForm, Form()]) -> Response:
    """Show the preview with other settings, score the file, or cancel its run."""
    uploads = uploads_of(request)
    upload = uploads.find(upload_id)
    if form.action == "cancel":
        uploads.cancel(upload)
    elif upload.state == "preview":
        if form.action == "preview":
            return _preview_page(request, upload, form)
        try:
            options = form.options(site_of(request), upload.path, upload.scan(form.read))
            uploads.start(upload, options)
        except SgiError as error:
            return _preview_page(request, upload, form, error)
    return redirect(f"/upload/{upload.id}")


def _preview_page(
    request: Request, upload: Upload, form: UploadForm, error: SgiError | None = None
) -> Response:
    judge, scan = site_of(request).judge, upload.scan(form.read)
    return page(
        request,
        "preview.html",
        status=200 if error is None else status_of(error),
        upload=upload,
        scan=scan,
        form=form,
        constants=upload_form,
        reasons=upload_form.metric_reasons(scan, has_judge=judge is not None),
        judge=judge,
        budget=uploads_of(request).budget_left,
        problem=str(error or scan.problem),
    )


def _file_page(request: Request, error: SgiError | None = None) -> Response:
    status, limit = 200 if error is None else status_of(error), site_of(request).upload_limit
    return page(request, "upload.html", status=status, problem=str(error or ""), kinds=SUFFIXES, limit=limit)
