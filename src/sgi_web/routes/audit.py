"""Page of the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.store.audit_log import count_entries, list_entries, logged_users
from sgi_web.pages import page
from sgi_web.row_parameters import MAX_PAGE
from sgi_web.site import site_of
from sgi_web.users import Role, require_role

router = APIRouter(include_in_schema=False)
SIZE = 50


@router.get("/audit", dependencies=[Depends(require_role(Role.EDITOR))])
def audit(
    request: Request,
    user: str = "",
    number: Annotated[int, Query(alias="page", ge=1, le=MAX_PAGE)] = 1,
) -> Response:
    """Show a page of the changes through the server, newest first."""
    database = site_of(request).database
    total = count_entries(database, user=user or None)
    pages = max(1, -(-total // SIZE))
    number = min(number, pages)
    entries = list_entries(database, user=user or None, limit=SIZE, offset=(number - 1) * SIZE)
    return page(
        request,
        "audit.html",
        entries=entries,
        total=total,
        number=number,
        pages=pages,
        chosen=user,
        users=logged_users(database),
    )
