"""``sgi serve``: serves the dashboard and the JSON API."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import print_message
from sgi.cli.option_fields import with_option_fields
from sgi.cli.option_values import select_embedders
from sgi.cli.run_options import Values, with_run_options
from sgi.kernel.errors import StoreError, UsageError, require_extra
from sgi_web.cli.serve_options import SiteFlags
from sgi_web.cli.serve_traces import TraceFlags, trace_receiver

if TYPE_CHECKING:
    from socket import socket

    from sgi.store.database import Database
    from sgi_web.site import Site

_BACKLOG = 512

Host = Annotated[str, typer.Option(help="Address to listen on; any address but loopback needs a token.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 selects a free port.")]
OpenPage = Annotated[bool, typer.Option("--open", help="Open the dashboard in a browser.")]


@with_run_options("embedders", "long_texts")
@with_option_fields
def serve(
    values: Values,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    db: options.Database = None,
    open_page: OpenPage = False,
    flags: SiteFlags = SiteFlags(),
    traces: TraceFlags = TraceFlags(),
) -> None:
    """Serve the dashboard and the JSON API; with --otlp, also receive and score traces.

    Listens on this machine only unless you set --host; other addresses need a token. Ctrl-C stops
    the server; uploaded rows that are scored by then stay in the database.

    Examples:
      sgi serve
      sgi serve --port 9000 --db nightly.db --open
      sgi serve --quiz quiz.jsonl --open
      sgi serve --trace-url "https://langfuse.example.org/project/p/traces/{trace_id}"
      sgi serve --judge openai:gpt-4o-mini --judge-budget 5
      sgi serve --otlp --otlp-share 0.1 -m grounding
      sgi serve --guard guard.json
      SGI_SERVE_TOKEN=... sgi serve --host 0.0.0.0
      sgi serve --public-host sgi.example.org --trusted-proxy 127.0.0.1 --identity-header X-Forwarded-User
    """
    with require_extra("`sgi serve`", "web"):
        for name in ("fastapi", "prometheus_client", "python_multipart", "uvicorn"):
            import_module(name)
    from sgi_web.security import LOOPBACK, allowed_hosts
    from sgi_web.site import Site

    models = {**values, "embedders": tuple(select_embedders(values.get("embedders"), None))}
    settings = flags.settings(is_local=host in LOOPBACK)
    receiving = traces.options(models, judge=flags.judge_settings)
    with (
        _open_socket(host, port) as listener,
        _open_or_create(db) as database,
        trace_receiver(database, receiving) as receiver,
    ):
        port = listener.getsockname()[1]
        site = Site(
            database=database,
            place=db,
            folder=_upload_folder(database),
            scoring=True,
            hosts=allowed_hosts(host, port, flags.public_host or ()),
            receiver=receiver,
            models=models,
            **settings,
        )
        _serve(site, listener, _address(host, port), open_page=open_page)


def _upload_folder(database: Database) -> Path:
    """Return the folder of uploads, beside a database that is a file."""
    return (Path(database.shown).parent if database.dialect == "sqlite" else Path()) / "sgi-uploads"


def _open_or_create(db: str | None) -> Database:
    """Open the database; create it if it does not exist."""
    from sgi.store.database import open_database

    try:
        return open_database(db, create=False)
    except StoreError:
        database = open_database(db)
    print_message(f"Created the empty database {database.shown}. Add runs with `sgi run` or an upload.")
    return database


def _open_socket(host: str, port: int) -> socket:
    """Bind a socket first, so that an address in use fails before the other work."""
    import socket

    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with ExitStack() as stack:
            listener = stack.enter_context(socket.socket(*address[:3]))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address[4])
            listener.listen(_BACKLOG)  # clients that connect now are served once the server is ready
            stack.pop_all()
    except (OSError, ValueError) as error:  # ValueError: invalid host name
        reason = getattr(error, "strerror", None) or "not a valid address"
        hint = "--port 0 takes a free port; --host must be an address of this machine."
        raise UsageError(f"Cannot listen on {host}, port {port}: {reason}.", hint=hint) from error
    return listener


def _address(host: str, port: int) -> str:
    """Return the URL of the dashboard for a browser."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - printed, not bound
    return f"http://{name}:{port}/"


def _serve(site: Site, listener: socket, address: str, *, open_page: bool) -> None:
    import uvicorn

    from sgi_web.app import create_app
    from sgi_web.connections import ConnectionLimits, server_options

    limits = ConnectionLimits(proxies=site.proxies)
    server = uvicorn.Server(uvicorn.Config(create_app(site), **server_options(limits)))
    typer.echo(address)
    print_message("Serving; press Ctrl-C to stop.")
    if open_page:
        typer.launch(address)
    if site.receiver is not None:
        print_message(f"Receiving traces at {address}v1/traces.")
    if site.guard is not None:
        print_message(f"Checking answers at {address}api/v1/guard.")
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises it again after it has stopped
        print_message("Stopped.")
