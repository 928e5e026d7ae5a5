"""Login and logout."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sgi_web.access import OWN_FORM, Session, end_login, try_token
from sgi_web.pages import page, redirect
from sgi_web.site import local, site_of

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Form()]


@router.get("/login")
def ask(request: Request) -> Response:
    """Show the login form."""
    further = local(request.query_params.get("next", "/"))
    return page(request, "login.html", further=further, problem="")


@router.post("/login", dependencies=[OWN_FORM])
def sign_in(request: Request, token: Text = "", further: Text = "/") -> Response:
    """Check the token, begin a new session and redirect to the requested page."""
    try:
        right = try_token(site_of(request), request, token)
    except HTTPException as error:
        if error.status_code != HTTPStatus.UNAUTHORIZED:
            raise
        return page(request, "login.html", status=403, further=local(further), problem="Wrong token.")
    request.state.session = Session.new(right)
    return redirect(local(further))


@router.post("/logout", dependencies=[OWN_FORM])
def sign_out(request: Request) -> Response:
    """End the login, and begin a new session."""
    end_login(site_of(request), request.state.session)
    request.state.session = Session.new()
    return redirect("/login")
