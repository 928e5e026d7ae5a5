"""Rename, tag and delete runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.kernel.errors import UsageError
from sgi.reporting.views.run_header import run_header
from sgi.store.manage_runs import change_run, delete_run
from sgi_web.access import EDITOR, OWN_FORM
from sgi_web.jobs import split_tags
from sgi_web.pages import page, redirect, run_or_404
from sgi_web.paths import run_path
from sgi_web.site import site_of

router = APIRouter(include_in_schema=False, dependencies=[EDITOR])
Text = Annotated[str, Form()]


@router.get("/runs/{run}/edit")
def edit(request: Request, run: str) -> Response:
    """Show the form for the name and tags of a run."""
    head = run_header(run_or_404(site_of(request), run))
    return page(request, "edit.html", head=head, name=head.name or "", tags=", ".join(head.tags), problem="")


@router.post("/runs/{run}/edit", dependencies=[OWN_FORM])
def save(request: Request, run: str, name: Text = "", tags: Text = "") -> Response:
    """Rename a run and set its tags; an error is shown above the form, and nothing is changed."""
    site = site_of(request)
    record = run_or_404(site, run)
    try:
        change_run(site.database, record.id, name=name.strip() or None, tags=split_tags(tags))
    except UsageError as error:
        values = {"head": run_header(record), "name": name, "tags": tags, "problem": str(error)}
        return page(request, "edit.html", status=400, **values)
    return redirect(run_path(record.id))


@router.get("/runs/{run}/delete")
def ask(request: Request, run: str) -> Response:
    """Ask for confirmation before a run is deleted."""
    return page(request, "delete.html", head=run_header(run_or_404(site_of(request), run)))


@router.post("/runs/{run}/delete", dependencies=[OWN_FORM])
def delete(request: Request, run: str) -> Response:
    """Delete a run."""
    site = site_of(request)
    delete_run(site.database, run_or_404(site, run).id)
    return redirect("/")
