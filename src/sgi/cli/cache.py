"""``sgi cache``: what the caches of vectors and of a judge's replies hold, and how to empty them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgi.cli.options import JsonOption

cache = typer.Typer(
    name="cache",
    help="The caches of vectors and of replies: what they hold, how to empty them. Example: sgi cache stats",
    no_args_is_help=True,
)

PathOption = Annotated[Path | None, typer.Option("--cache", help="A cache other than your own.")]
RepliesOption = Annotated[
    bool, typer.Option("--replies", help="The replies of judges, which cost money, in place of the vectors.")
]


@cache.command()
def stats(path: PathOption = None, replies: RepliesOption = False, as_json: JsonOption = False) -> None:
    """Say where the cache is, how many vectors or replies it holds and how large it is.

    Examples:

      sgi cache stats --json

      sgi cache stats --replies
    """
    from sgi.cli.console import plain, print_json
    from sgi.store.cache import SqliteCache

    with SqliteCache(_place(path, replies=replies)) as opened:
        found = opened.stats()
    if as_json:
        print_json({"path": str(found.path), "entries": found.entries, "bytes": found.bytes})
    else:
        typer.echo(plain(f"{found.entries:,} {_what(replies)}, {found.bytes / 1e6:,.1f} MB, in {found.path}"))


@cache.command()
def clear(path: PathOption = None, replies: RepliesOption = False) -> None:
    """Forget all vectors, or all replies; they are made, or paid, anew when they are wanted.

    Examples:

      sgi cache clear

      sgi cache clear --replies
    """
    from sgi.cli.console import plain
    from sgi.store.cache import SqliteCache

    with SqliteCache(_place(path, replies=replies)) as opened:
        entries = opened.stats().entries
        opened.clear()
    typer.echo(plain(f"Forgot {entries:,} {_what(replies)}."))


def _place(path: Path | None, *, replies: bool) -> Path:
    from sgi.engine.open_judge import replies_path
    from sgi.store.cache import default_cache_path

    vectors = path or default_cache_path()
    return replies_path(vectors) if replies else vectors


def _what(replies: bool) -> str:
    return "replies" if replies else "vectors"
