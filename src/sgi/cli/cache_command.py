"""``sgi runs cache``: shows and clears the caches of vectors and of judge replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgi.cli import options
from sgi.cli.console import print_json, print_lines

cache = typer.Typer(
    name="cache",
    help="Show or clear the caches of vectors and judge replies. Example: sgi runs cache stats",
    no_args_is_help=True,
)

PathOption = Annotated[
    Path | None, typer.Option("--cache", help="File of the vector cache. Default: your user cache.")
]
RepliesOption = Annotated[
    bool,
    typer.Option("--replies", help="Use the cache of judge replies instead of the cache of vectors."),
]


@cache.command()
def stats(path: PathOption = None, replies: RepliesOption = False, as_json: options.Json = False) -> None:
    """Print the path, the number of entries and the size of a cache.

    Examples:
      sgi runs cache stats --json
      sgi runs cache stats --replies
    """
    from sgi.store.cache import SqliteCache

    with SqliteCache(_cache_path(path, replies=replies)) as store:
        size = store.stats()
    if as_json:
        print_json({"path": str(size.path), "entries": size.entries, "bytes": size.bytes})
    else:
        print_lines([f"{size.entries:,} {_kind(replies)}, {size.bytes / 1e6:,.1f} MB, in {size.path}"])


@cache.command()
def clear(path: PathOption = None, replies: RepliesOption = False) -> None:
    """Delete all cached vectors, or all cached replies. New replies cost money.

    Examples:
      sgi runs cache clear
      sgi runs cache clear --replies
    """
    from sgi.store.cache import SqliteCache

    with SqliteCache(_cache_path(path, replies=replies)) as store:
        entries = store.stats().entries
        store.clear()
    print_lines([f"Deleted {entries:,} {_kind(replies)}."])


def _cache_path(path: Path | None, *, replies: bool) -> Path:
    from sgi.store.cache import default_cache_path, replies_path

    vectors = path or default_cache_path()
    return replies_path(vectors) if replies else vectors


def _kind(replies: bool) -> str:
    return "replies" if replies else "vectors"
