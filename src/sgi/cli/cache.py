"""``sgi cache``: what the vector cache holds, and how to empty it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgi.cli.options import JsonOption

cache = typer.Typer(
    name="cache",
    help="The vector cache: what it holds, and how to empty it. Example: sgi cache stats",
    no_args_is_help=True,
)

PathOption = Annotated[Path | None, typer.Option("--cache", help="A cache other than your own.")]


@cache.command()
def stats(path: PathOption = None, as_json: JsonOption = False) -> None:
    """Say where the cache is, how many vectors it holds and how large it is.

    Example:

      sgi cache stats --json
    """
    from sgi.cli.console import plain, print_json
    from sgi.store.cache import SqliteCache, default_cache_path

    with SqliteCache(path or default_cache_path()) as opened:
        found = opened.stats()
    if as_json:
        print_json({"path": str(found.path), "entries": found.entries, "bytes": found.bytes})
    else:
        typer.echo(plain(f"{found.entries:,} vectors, {found.bytes / 1e6:,.1f} MB, in {found.path}"))


@cache.command()
def clear(path: PathOption = None) -> None:
    """Forget all vectors; they are computed anew when they are wanted.

    Example:

      sgi cache clear
    """
    from sgi.cli.console import plain
    from sgi.store.cache import SqliteCache, default_cache_path

    with SqliteCache(path or default_cache_path()) as opened:
        entries = opened.stats().entries
        opened.clear()
    typer.echo(plain(f"Forgot {entries:,} vectors."))
