"""Upload a file, check how it is read, and score it."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, File, UploadFile
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - FastAPI reads it at run time

from sgi.kernel.errors import SgiError, UsageError
from sgi_web.access import EDITOR, OWN_FORM
from sgi_web.data_scan import MAX_REJECTED, SHOWN_FIELDS, DataScan
from sgi_web.errors import status_of
from sgi_web.jobs import jobs_of
from sgi_web.pages import NotFoundError, page, redirect
from sgi_web.paths import segment
from sgi_web.previews import Preview, previews_of
from sgi_web.site import site_of
from sgi_web.upload_form import DETECTED, MAIN_FIELDS, MAP, UploadForm, require_scorable
from sgi_web.upload_metrics import (
    JudgeEstimate,
    default_names,
    estimate_calls,
    metric_groups,
    unavailable,
)
from sgi_web.uploads import SUFFIXES, file_name, keep_upload, save_upload

router = APIRouter(include_in_schema=False)
Sent = Annotated[UploadFile | None, File()]

_GONE = "This file is not here: it was scored already, or not used for an hour. Upload it again."
_CONFIRM = "The metrics that you selected need the judge. Check the estimate below, then press Score again."


@router.get("/upload", dependencies=[EDITOR])
def ask(request: Request) -> Response:
    """Show the form for a file."""
    return _file_page(request)


@router.post("/upload", dependencies=[OWN_FORM])
def send(request: Request, file: Sent = None) -> Response:
    """Store a file, and redirect to its preview; errors are shown above the form."""
    if file is None or not file.filename:
        return _file_page(request, "No file was chosen.", 400)
    shown = file_name(file.filename)
    try:
        path = save_upload(site_of(request), file.file, shown)
    except SgiError as error:
        return _file_page(request, str(error), status_of(error))
    preview = previews_of(request).add(path, shown, request.state.session.id)
    return redirect(f"/upload/{segment(preview.id)}")


@router.get("/upload/{preview_id}", dependencies=[EDITOR])
def show(request: Request, preview_id: str) -> Response:
    """Show the first rows of a file, and the form for its columns and metrics."""
    preview = _preview_or_404(request, preview_id)
    return _preview_page(request, preview, UploadForm())


@router.post("/upload/{preview_id}", dependencies=[OWN_FORM])
async def submit(request: Request, preview_id: str) -> Response:
    """Show the preview with other settings, or score the file."""
    values = await request.form()
    preview = _preview_or_404(request, preview_id)
    handle = _score if values.get("action") == "score" else _preview_page
    return await anyio.to_thread.run_sync(handle, request, preview, UploadForm.of(values))


def _preview_or_404(request: Request, preview_id: str) -> Preview:
    preview = previews_of(request).find(preview_id, request.state.session.id)
    if preview is None:
        raise NotFoundError(_GONE)
    return preview


def _score(request: Request, preview: Preview, form: UploadForm) -> Response:
    """Queue the job, or show the form again with the reason why it cannot be scored."""
    try:
        scan = _scan(request, preview, form)
        require_scorable(scan, form)
        tags = form.checked_tags
        names = form.metrics or default_names(scan.fields)
        if not names:
            raise UsageError("No metric is selected.", hint="Select at least one.")
        if reason := unavailable(names, metric_groups(scan.fields, has_judge=_has_judge(request))):
            raise UsageError(f"These metrics cannot be scored: {reason}")
        estimate = _estimate(request, preview, form, scan, names)
        _require_budget(request, estimate)
        if estimate is not None and form.estimate != _estimate_key(estimate, names):
            return _preview_page(request, preview, form, notice=_CONFIRM)
        spec = form.spec(site_of(request), preview.path, names)
        path = keep_upload(preview.path)
        try:
            job = jobs_of(request).submit(spec.model_copy(update={"data": path}), preview.shown, tags)
        except BaseException:
            path.rename(preview.path)
            raise
    except SgiError as error:
        return _preview_page(request, preview, form, problem=str(error), status=status_of(error))
    previews_of(request).forget(preview)
    return redirect(f"/running/{segment(job.id)}")


def _scan(request: Request, preview: Preview, form: UploadForm) -> DataScan:
    with previews_of(request).throttle.acquire():
        return preview.scan(form.read)


def _has_judge(request: Request) -> bool:
    return site_of(request).judge is not None


def _estimate(
    request: Request, preview: Preview, form: UploadForm, scan: DataScan, names: tuple[str, ...]
) -> JudgeEstimate | None:
    judge = site_of(request).judge
    if judge is None or scan.problem:
        return None
    with previews_of(request).throttle.acquire():
        return estimate_calls(preview.path, form.read, scan, names, judge)


def _estimate_key(estimate: JudgeEstimate, names: tuple[str, ...]) -> str:
    return f"{estimate.calls} {','.join(names)}"


def _require_budget(request: Request, estimate: JudgeEstimate | None) -> None:
    left = jobs_of(request).budget_left()
    cost = 0.0 if estimate is None else estimate.cost or 0.0
    if estimate is None or left is None or left > cost:
        return
    raise UsageError(
        f"The estimated cost is ${cost:.4f}, but ${max(left, 0):.4f} of the judge budget is left.",
        hint="Select fewer metrics, or upload fewer rows.",
    )


def _preview_page(
    request: Request,
    preview: Preview,
    form: UploadForm,
    *,
    problem: str = "",
    notice: str = "",
    status: int = 200,
) -> Response:
    scan = _scan(request, preview, form)
    groups = metric_groups(scan.fields, has_judge=_has_judge(request))
    names = default_names(scan.fields) if form.metrics is None else form.metrics
    selected = tuple(name for name in names if not unavailable([name], groups))
    estimate = _estimate(request, preview, form, scan, selected) if selected else None
    judge = site_of(request).judge
    return page(
        request,
        "preview.html",
        status=status,
        preview=preview,
        scan=scan,
        form=form,
        inputs=form.inputs(scan),
        main_fields=MAIN_FIELDS,
        more_open=bool(form.read.encoding or form.read.per_turn or form.read.columns.keys() - {*MAIN_FIELDS}),
        shown_fields=SHOWN_FIELDS,
        prefixes=(MAP, DETECTED),
        most_errors=MAX_REJECTED,
        groups=groups,
        selected=selected,
        estimate=estimate,
        estimate_key="" if estimate is None else _estimate_key(estimate, selected),
        judge="" if judge is None else judge.name_parts.name,
        budget_left=jobs_of(request).budget_left(),
        problem=problem or scan.problem,
        notice=notice,
    )


def _file_page(request: Request, problem: str = "", status: int = 200) -> Response:
    limit = site_of(request).upload_limit
    return page(request, "upload.html", status=status, problem=problem, kinds=SUFFIXES, limit=limit)
