"""The options of ``sgi serve`` about its clients: who may connect, and how much they may send."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Any

from sgi.cli import options
from sgi.kernel.environment_variables import SERVE_TOKEN, SERVE_VIEW_TOKEN
from sgi.kernel.errors import UsageError

_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}")
MIN_TOKEN_LENGTH = 16
_security_option = options.option_group("Security")

Token = Annotated[
    str | None,
    _security_option(
        envvar=SERVE_TOKEN.name,
        show_envvar=False,
        help="Secret of people who may change something, at least 16 characters. Better set SGI_SERVE_TOKEN, "
        "because other users can see a command line.",
    ),
]
ViewToken = Annotated[
    str | None,
    _security_option(
        envvar=SERVE_VIEW_TOKEN.name,
        show_envvar=False,
        help="Secret of people who may only read. Better set SGI_SERVE_VIEW_TOKEN.",
    ),
]
PublicHost = Annotated[
    list[str] | None,
    _security_option(
        help="Accept requests for this public name of a reverse proxy, such as sgi.example.org; repeatable."
    ),
]
TrustedProxy = Annotated[
    list[str] | None,
    _security_option(
        help="Address of a reverse proxy whose X-Forwarded-For and X-Forwarded-Proto headers are used; "
        "repeatable. Without it they are ignored."
    ),
]
IdentityHeader = Annotated[
    str | None,
    _security_option(
        metavar="NAME",
        help="Header in which a trusted proxy names the person who has signed in there, such as "
        "X-Forwarded-User. Only the proxy can then reach the server, and there are no tokens.",
    ),
]
UploadLimit = Annotated[str, options.option_group("Limits")(help="Maximum size of an uploaded file.")]


@dataclass(frozen=True, kw_only=True)
class AccessFlags:
    """The values of the options about clients: one field for each option."""

    token: Token = None
    view_token: ViewToken = None
    upload_limit: UploadLimit = "100MB"
    public_host: PublicHost = None
    trusted_proxy: TrustedProxy = None
    identity_header: IdentityHeader = None

    def settings(self, *, is_local: bool) -> dict[str, Any]:
        """Return the settings of the site about its clients; ``is_local`` if it listens on this machine only.

        Raises:
            UsageError: others can reach the server without a token or a proxy that names them, a token is too
                short, or options contradict each other.
        """
        proxies = self._proxies()
        if self.identity_header is not None:
            self._check_identity_header()
        elif not (self.token or self.view_token) and (self.public_host or proxies or not is_local):
            raise UsageError(
                "Others can reach the server, so a token is required.",
                hint=f"Set SGI_SERVE_TOKEN to at least {MIN_TOKEN_LENGTH} characters, or serve on 127.0.0.1.",
            )
        for token in filter(None, (self.token, self.view_token)):
            if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable():
                hint = "`python -c 'import secrets; print(secrets.token_urlsafe())'` makes one."
                message = f"A token has at least {MIN_TOKEN_LENGTH} printable ASCII characters."
                raise UsageError(message, hint=hint)
        if self.token and self.token == self.view_token:
            raise UsageError("The two tokens must differ.", hint="Change SGI_SERVE_VIEW_TOKEN.")
        return {
            "token": self.token or None,
            "view_token": self.view_token or None,
            "identity_header": self.identity_header,
            "proxies": proxies,
        }

    def _check_identity_header(self) -> None:
        if not self.trusted_proxy:
            hint = "Name the address of the proxy, as in --trusted-proxy 127.0.0.1."
            raise UsageError("--identity-header needs --trusted-proxy.", hint=hint)
        if self.token or self.view_token:
            hint = "Unset SGI_SERVE_TOKEN and SGI_SERVE_VIEW_TOKEN: only the proxy lets people in."
            raise UsageError("--identity-header and tokens exclude each other.", hint=hint)
        if not _HEADER_NAME.fullmatch(self.identity_header or ""):
            message = f"{self.identity_header!r} is not the name of a header."
            raise UsageError(message, hint="Use X-Forwarded-User.")

    def _proxies(self) -> frozenset[str]:
        """Check that proxies are IP addresses: names, networks and * would trust too many clients."""
        try:
            return frozenset(str(ip_address(address)) for address in self.trusted_proxy or ())
        except ValueError as error:
            hint = "Use the address that its connections come from, as in --trusted-proxy 127.0.0.1."
            raise UsageError(f"--trusted-proxy must be an IP address: {error}.", hint=hint) from error
