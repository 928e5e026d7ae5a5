"""Users in requests: who sends a request, what the role allows, and the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time

from sgi.store.audit_log import add_entry
from sgi.store.users import LOCAL_NAME, Role
from sgi_web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sgi.store.database import Database

__all__ = ["LOCAL", "Role", "User", "current_user", "known_user", "may", "record_action", "require_role"]


@dataclass(frozen=True)
class User:
    """Who sends a request. The name is printable and has at most 200 characters."""

    name: str
    role: Role


LOCAL = User(LOCAL_NAME, Role.EDITOR)
"""Everybody on a server that needs no token."""


def current_user(request: Request) -> User:
    """Return the user of a request. Only pages that need no user, such as the login page, have none."""
    user: User = request.state.user
    return user


def known_user(request: Request) -> User | None:
    """Return the user of a request; None if the page needs none, or the request was refused."""
    user: User | None = getattr(request.state, "user", None)
    return user


def may(request: Request, role: Role) -> bool:
    """Return whether the user of a request has this role or a higher one."""
    user = known_user(request)
    return user is not None and user.role >= role


def require_role(role: Role) -> Callable[[Request], Awaitable[None]]:
    """Return a dependency of routes that refuses users with a lower role (status 403)."""

    async def check_role(request: Request) -> None:
        if not may(request, role):
            raise HTTPException(
                403,
                f"This needs the role {role}. Your role is {current_user(request).role}. "
                "An administrator of this server can change it with `sgi users role`.",
            )

    return check_role


def record_action(
    request: Request, action: str, target: str, detail: str = "", *, database: Database | None = None
) -> None:
    """Write an entry of the user of this request to the audit log.

    Args:
        request: the request that made the change.
        action: what was done, such as ``rename``.
        target: the id of the changed run, or the name of the uploaded file.
        detail: the old and the new value, for example.
        database: the transaction of the change, so that both are stored or neither is.
    """
    add_entry(database or site_of(request).database, current_user(request).name, action, target, detail)
