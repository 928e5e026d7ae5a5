"""``sgi serve``: the dashboard and the JSON API, on this machine or, with a token, for others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli.options import BackendOption, DatabaseOption, EmbedderOption, PrecisionOption, chosen_embedders

if TYPE_CHECKING:
    from collections.abc import Iterable
    from socket import socket

    from sgi.store.database import Database
    from sgi.web.connections import ConnectionLimits
    from sgi.web.site import Site

_BACKLOG = 512


def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but this machine's own needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 8765,
    db: DatabaseOption = None,
    embedder: EmbedderOption = None,
    backend: BackendOption = "auto",
    precision: PrecisionOption = "auto",
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SGI_SERVE_TOKEN",
            show_envvar=False,
            help="What callers must know, at least 16 characters; better given as SGI_SERVE_TOKEN: others "
            "can see a command line.",
        ),
    ] = None,
    upload_limit: Annotated[str, typer.Option(help="The largest file that can be uploaded.")] = "100MB",
    public_host: Annotated[
        list[str] | None,
        typer.Option(help="A name by which a reverse proxy is reached, such as sgi.example.org; repeatable."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="The address of a reverse proxy whose X-Forwarded-For and X-Forwarded-Proto are believed; "
            "repeatable. Without it they are ignored."
        ),
    ] = None,
    max_connections: Annotated[int, typer.Option(min=16, help="Connections at once.")] = 512,
    max_connections_per_address: Annotated[
        int, typer.Option(min=1, help="Connections of one address at once; trusted proxies are exempt.")
    ] = 64,
    header_timeout: Annotated[
        float, typer.Option(min=1.0, help="Seconds in which a request's headers must be complete.")
    ] = 10.0,
    min_body_rate: Annotated[
        int, typer.Option(min=1, help="Bytes a second, over 10 s, that a request's body must come with.")
    ] = 1_000,
    open_page: Annotated[bool, typer.Option("--open", help="Open the dashboard in a browser.")] = False,
) -> None:
    """Show runs in a browser, score uploads, and answer the JSON API.

    On this machine alone unless --host says otherwise. Ctrl-C ends it; an upload that is being scored is kept
    as far as it is.

    Examples:

      sgi serve

      sgi serve --port 9000 --db nightly.db --open

      sgi serve --backend openvino --precision int8

      SGI_SERVE_TOKEN=... sgi serve --host 0.0.0.0

      SGI_SERVE_TOKEN=... sgi serve --public-host sgi.example.org --trusted-proxy 127.0.0.1
    """
    from importlib.util import find_spec

    from sgi.kernel.errors import MissingExtraError
    from sgi.kernel.limits import size_in_bytes

    if any(
        find_spec(name) is None for name in ("fastapi", "uvicorn", "python_multipart", "prometheus_client")
    ):
        raise MissingExtraError("`sgi serve`", "web")
    from sgi.models.embedder.load import require_backend
    from sgi.web.connections import ConnectionLimits
    from sgi.web.security import check_token, own_hosts

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
    with _listening(host, port) as listener, _opened(db) as database:
        site = replace(
            _site(database, db, token, limit, own_hosts(host, listener.getsockname()[1], public_host or ())),
            embedders=tuple(chosen_embedders(embedder, None, backend=backend, precision=precision)),
            backend=backend,
            precision=precision,
        )
        _serve(site, listener, _address(host, listener.getsockname()[1]), limits, open_page=open_page)


def _opened(db: str | None) -> Database:
    """The database; one that isn't there is made, and its maker told."""
    from sgi.cli.console import talk
    from sgi.kernel.errors import StoreError
    from sgi.store.database import open_database

    try:
        return open_database(db, create=False)
    except StoreError as error:
        from sgi.kernel.errors import SchemaTooNewError, SchemaTooOldError

        if isinstance(error, (SchemaTooNewError, SchemaTooOldError)):
            raise
        database = open_database(db)
    talk(f"{database.shown} is new, and empty: `sgi run` or an upload fills it.")
    return database


def _listening(host: str, port: int) -> socket:
    """A socket on the address, bound before anything else is done."""
    import socket
    from contextlib import ExitStack

    from sgi.kernel.errors import UsageError

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with ExitStack() as stack:
            listener = stack.enter_context(socket.socket(found[0], found[1]))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(found[4])
            listener.listen(_BACKLOG)  # who connects from now on is answered once the server is ready
            stack.pop_all()
    except (OSError, ValueError) as error:  # ValueError: no host can be called so
        reason = getattr(error, "strerror", None) or "this is no address"
        hint = "--port 0 takes one that is free; --host must be an address of this machine."
        raise UsageError(f"Cannot listen on {host}, port {port}: {reason}.", hint=hint) from error
    return listener


def _addresses(given: Iterable[str]) -> frozenset[str]:
    """The addresses of proxies, checked.

    Raises:
        UsageError: one is not an IP address: names, networks and * would believe more callers than meant.
    """
    from ipaddress import ip_address

    from sgi.kernel.errors import UsageError

    try:
        return frozenset(str(ip_address(address)) for address in given)
    except ValueError as error:
        hint = "Name the address that its connections come from, as in --trusted-proxy 127.0.0.1."
        raise UsageError(f"A trusted proxy is an IP address: {error}.", hint=hint) from error


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
    """Where a browser finds the server."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - told, not bound
    return f"http://{shown}:{port}/"


def _serve(site: Site, listener: socket, address: str, limits: ConnectionLimits, *, open_page: bool) -> None:
    """Serve until somebody ends it."""
    import uvicorn

    from sgi.cli.console import talk
    from sgi.web.app import create_app
    from sgi.web.connections import server_options

    server = uvicorn.Server(uvicorn.Config(create_app(site), **server_options(limits)))
    typer.echo(address)
    talk(
        "Serving; Ctrl-C ends it."
        if site.token is None
        else "Serving those who know the token; Ctrl-C ends it."
    )
    if open_page:
        typer.launch(address)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises it once more after it has ended
        talk("Ended.")
