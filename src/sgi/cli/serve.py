"""``sgi serve``: the dashboard and the JSON API, on this machine or, with a token, for other machines."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import talk
from sgi.cli.option_values import select_embedders
from sgi.kernel.errors import MissingExtraError, SchemaTooNewError, SchemaTooOldError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from socket import socket

    from sgi.store.database import Database
    from sgi.web.connections import ConnectionLimits
    from sgi.web.site import Site

_BACKLOG = 512
_security_option = options.option_group("Security")
_limit_option = options.option_group("Limits")


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; any address but loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8765,
    db: options.Database = None,
    embedder: options.Embedders = None,
    backend: options.Backend = "auto",
    precision: options.Precision = "auto",
    token: Annotated[
        str | None,
        _security_option(
            envvar="SGI_SERVE_TOKEN",
            show_envvar=False,
            help="Secret that clients must send, at least 16 characters. Better set SGI_SERVE_TOKEN, because "
            "other users can see a command line.",
        ),
    ] = None,
    upload_limit: Annotated[str, _limit_option(help="Largest file that can be uploaded.")] = "100MB",
    public_host: Annotated[
        list[str] | None,
        _security_option(help="Host name of a reverse proxy, such as sgi.example.org; repeatable."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        _security_option(
            help="Address of a reverse proxy whose X-Forwarded-For and X-Forwarded-Proto headers are used; "
            "repeatable. Without it they are ignored."
        ),
    ] = None,
    max_connections: Annotated[int, _limit_option(min=16, help="Largest number of open connections.")] = 512,
    max_connections_per_address: Annotated[
        int,
        _limit_option(
            min=1, help="Largest number of open connections from one address; trusted proxies are exempt."
        ),
    ] = 64,
    header_timeout: Annotated[
        float,
        _limit_option(min=1.0, help="Seconds to receive all headers of a request."),
    ] = 10.0,
    min_body_rate: Annotated[
        int,
        _limit_option(min=1, help="Smallest rate of a request body, bytes per second over 10 s."),
    ] = 1_000,
    open_page: Annotated[bool, typer.Option("--open", help="Open the dashboard in a browser.")] = False,
) -> None:
    """Serve the dashboard and the JSON API.

    Listens on this machine only unless you set --host. Ctrl-C stops the server; the rows of an upload that
    are scored so far are kept.

    Examples:
      sgi serve
      sgi serve --port 9000 --db nightly.db --open
      sgi serve --backend openvino --precision int8
      SGI_SERVE_TOKEN=... sgi serve --host 0.0.0.0
      SGI_SERVE_TOKEN=... sgi serve --public-host sgi.example.org --trusted-proxy 127.0.0.1
    """
    from importlib.util import find_spec

    from sgi.kernel.limits import size_in_bytes

    if any(
        find_spec(name) is None for name in ("fastapi", "uvicorn", "python_multipart", "prometheus_client")
    ):
        raise MissingExtraError("`sgi serve`", "web")
    from sgi.models.embedder.load import require_backend
    from sgi.web.connections import ConnectionLimits
    from sgi.web.security import allowed_hosts, check_token

    require_backend(backend, precision)
    token = check_token(token, host, proxied=bool(public_host or trusted_proxy))
    limits = ConnectionLimits(
        total=max_connections,
        per_address=max_connections_per_address,
        header_seconds=header_timeout,
        body_rate=min_body_rate,
        proxies=_addresses(trusted_proxy or ()),
    )
    limit = size_in_bytes(upload_limit)
    with _open_socket(host, port) as listener, _open_or_create(db) as database:
        site = replace(
            _site(
                database, db, token, limit, allowed_hosts(host, listener.getsockname()[1], public_host or ())
            ),
            embedders=tuple(select_embedders(embedder, None, backend=backend, precision=precision)),
            backend=backend,
            precision=precision,
        )
        _serve(site, listener, _address(host, listener.getsockname()[1]), limits, open_page=open_page)


def _open_or_create(db: str | None) -> Database:
    """Open the database; if it does not exist, create it and say so."""
    from sgi.store.database import open_database

    try:
        return open_database(db, create=False)
    except StoreError as error:
        if isinstance(error, (SchemaTooNewError, SchemaTooOldError)):
            raise
        database = open_database(db)
    talk(f"Created the empty database {database.shown}. Add runs with `sgi run` or an upload.")
    return database


def _open_socket(host: str, port: int) -> socket:
    """Bind a socket to the address before anything else is done."""
    import socket

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with ExitStack() as stack:
            listener = stack.enter_context(socket.socket(found[0], found[1]))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(found[4])
            listener.listen(_BACKLOG)  # clients that connect now are served once the server is ready
            stack.pop_all()
    except (OSError, ValueError) as error:  # ValueError: invalid host name
        reason = getattr(error, "strerror", None) or "not a valid address"
        hint = "--port 0 takes a free port; --host must be an address of this machine."
        raise UsageError(f"Cannot listen on {host}, port {port}: {reason}.", hint=hint) from error
    return listener


def _addresses(given: Iterable[str]) -> frozenset[str]:
    """Check the addresses of proxies: names, networks and * would trust too many clients.

    Raises:
        UsageError: one is not an IP address.
    """
    from ipaddress import ip_address

    try:
        return frozenset(str(ip_address(address)) for address in given)
    except ValueError as error:
        hint = "Use the address that its connections come from, as in --trusted-proxy 127.0.0.1."
        raise UsageError(f"--trusted-proxy must be an IP address: {error}.", hint=hint) from error


def _site(
    database: Database, db: str | None, token: str | None, limit: int, hosts: frozenset[str] | None
) -> Site:
    from sgi.web.site import Site

    beside = Path(database.shown).parent if database.dialect == "sqlite" else Path()
    return Site(
        database=database,
        place=db,
        token=token,
        upload_limit=limit,
        folder=beside / "sgi-uploads",
        scoring=True,
        hosts=hosts,
    )


def _address(host: str, port: int) -> str:
    """The URL of the server for a browser."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - printed, not bound
    return f"http://{shown}:{port}/"


def _serve(site: Site, listener: socket, address: str, limits: ConnectionLimits, *, open_page: bool) -> None:
    """Serve until the process is stopped."""
    import uvicorn

    from sgi.web.app import create_app
    from sgi.web.connections import server_options

    server = uvicorn.Server(uvicorn.Config(create_app(site), **server_options(limits)))
    typer.echo(address)
    talk(f"Serving{'' if site.token is None else ' clients with the token'}; press Ctrl-C to stop.")
    if open_page:
        typer.launch(address)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises it again after it has stopped
        talk("Stopped.")
