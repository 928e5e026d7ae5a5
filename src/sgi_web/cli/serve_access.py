"""The options of ``sgi serve`` about its clients: who may connect, and how much they may send."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from sgi.cli import options
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sgi_web.connections import ConnectionLimits

_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}")
_security_option = options.option_group("Security")
_limit_option = options.option_group("Limits")

Token = Annotated[
    str | None,
    _security_option(
        envvar="SGI_SERVE_TOKEN",
        show_envvar=False,
        help="Secret that gives the role editor, at least 16 characters. Better set SGI_SERVE_TOKEN, because "
        "other users can see a command line.",
    ),
]
UploadLimit = Annotated[str, _limit_option(help="Maximum size of an uploaded file.")]
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
UserHeader = Annotated[
    str | None,
    _security_option(
        metavar="NAME",
        help="Header in which a trusted proxy names the user who has signed in there, such as "
        "X-Forwarded-User. Needs --trusted-proxy; the header is refused from other addresses.",
    ),
]
DefaultRole = Annotated[
    options.RoleName | None,
    _security_option(
        help="Role of users whom the proxy names and `sgi users` does not list. Without it they are refused."
    ),
]
MaxConnections = Annotated[int, _limit_option(min=16, help="Maximum number of open connections.")]
MaxConnectionsPerAddress = Annotated[
    int,
    _limit_option(
        min=1, help="Maximum number of open connections from one address; trusted proxies are exempt."
    ),
]
HeaderTimeout = Annotated[
    float, _limit_option(min=1.0, help="Maximum seconds to receive all headers of a request.")
]
MinBodyRate = Annotated[
    int, _limit_option(min=1, help="Minimum rate of a request body, in bytes per second, over 10 s.")
]


@dataclass(frozen=True, kw_only=True)
class AccessFlags:
    """The values of the options about clients: one field for each option."""

    token: Token = None
    upload_limit: UploadLimit = "100MB"
    public_host: PublicHost = None
    trusted_proxy: TrustedProxy = None
    user_header: UserHeader = None
    default_role: DefaultRole = None
    max_connections: MaxConnections = 512
    max_connections_per_address: MaxConnectionsPerAddress = 64
    header_timeout: HeaderTimeout = 10.0
    min_body_rate: MinBodyRate = 1_000

    def settings(self, host: str, has_users: Callable[[], bool]) -> dict[str, Any]:
        """Return the settings of the site about its clients.

        Raises UsageError if others can reach the server and there is neither a token nor a user, if the token
        is too short, or if an option needs another one.
        """
        from sgi.store.users import Role
        from sgi_web.security import check_token, is_reachable

        if self.user_header is None and self.default_role is not None:
            raise UsageError("--default-role needs --user-header.")
        if self.user_header is not None and not self.trusted_proxy:
            hint = "Name the address of the proxy, as in --trusted-proxy 127.0.0.1."
            raise UsageError("--user-header needs --trusted-proxy.", hint=hint)
        if self.user_header is not None and not _HEADER_NAME.fullmatch(self.user_header):
            raise UsageError(
                f"{self.user_header!r} is not the name of a header.", hint="Use X-Forwarded-User."
            )
        proxied = bool(self.public_host or self.trusted_proxy)
        signed_in = (lambda: True) if self.user_header else has_users
        return {
            "token": check_token(self.token, host, proxied=proxied, has_users=signed_in),
            "reachable": is_reachable(host, proxied=proxied),
            "user_header": self.user_header,
            "proxies": _addresses(self.trusted_proxy or ()),
            "default_role": None if self.default_role is None else Role[self.default_role.upper()],
        }

    def connection_limits(self) -> ConnectionLimits:
        """Return the limits of connections; raise UsageError if a proxy is not an IP address."""
        from sgi_web.connections import ConnectionLimits

        return ConnectionLimits(
            total=self.max_connections,
            per_address=self.max_connections_per_address,
            header_seconds=self.header_timeout,
            body_rate=self.min_body_rate,
            proxies=_addresses(self.trusted_proxy or ()),
        )


def _addresses(proxies: Iterable[str]) -> frozenset[str]:
    """Check that proxies are IP addresses: names, networks and * would trust too many clients."""
    from ipaddress import ip_address

    try:
        return frozenset(str(ip_address(address)) for address in proxies)
    except ValueError as error:
        hint = "Use the address that its connections come from, as in --trusted-proxy 127.0.0.1."
        raise UsageError(f"--trusted-proxy must be an IP address: {error}.", hint=hint) from error
