"""Login and logout."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi_web.authentication import LOGIN, login_cookie, seconds_to_wait, too_many_tokens, try_token
from sgi_web.pages import page, redirect, refusal
from sgi_web.paths import local
from sgi_web.security import check_form
from sgi_web.site import site_of

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Form()]


@router.get("/login")
def ask(request: Request) -> Response:
    """Show the form."""
    further = local(request.query_params.get("next", "/"))
    return page(request, "login.html", further=further, problem="")


@router.post("/login", dependencies=[Depends(check_form)])
def sign_in(request: Request, token: Text = "", further: Text = "/") -> Response:
    """Check the token and redirect to the requested page."""
    further = local(further)
    site = site_of(request)
    account = try_token(site, request, token)
    if account is None:
        seconds = seconds_to_wait(site, request)
        if seconds:
            return refusal(request, too_many_tokens(seconds))
        return page(request, "login.html", status=403, further=further, problem="Wrong token.")
    response = redirect(further)
    value, seconds = login_cookie(request, account)
    secure = request.scope["scheme"] == "https"
    response.set_cookie(LOGIN, value, max_age=seconds, httponly=True, samesite="strict", secure=secure)
    return response


@router.post("/logout", dependencies=[Depends(check_form)])
def sign_out(request: Request) -> Response:
    """Delete the login cookie."""
    del request  # check_form has checked it
    response = redirect("/login")
    response.delete_cookie(LOGIN, httponly=True, samesite="strict")
    return response
