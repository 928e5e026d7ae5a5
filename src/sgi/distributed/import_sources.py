"""Restrict the files that an import reads: the folder itself, and the data that the user names.

The folder is untrusted. The paths and addresses in its ``run.json`` are not followed: they could be any file
of this machine, or an address that is contacted with the user's credentials.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.distributed.addresses import as_address
from sgi.distributed.storage import Source, find_sources
from sgi.kernel.errors import RunMismatchError, SgiError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.distributed.manifest import RunManifest
    from sgi.distributed.storage import Folder


def require_own_files(folder: Folder) -> None:
    """Raise a StoreError if a file of an import is a link to outside of the folder, or not a regular file."""
    if as_address(folder.text) is not None:
        return  # object stores have no links; the user named the address
    root = Path(folder.text).resolve()
    for name in sorted(folder.names()):
        path = Path(folder.text) / name
        if (name == "run.json" or name.startswith("part-")) and not (
            path.is_file() and path.resolve().is_relative_to(root)
        ):
            raise StoreError(
                f"{folder.path_of(name)} is not a file of the folder.",
                hint="Put the file itself there if you trust it.",
            )


def resolve_sources(run_manifest: RunManifest, folder: Folder, data: str | None) -> RunManifest:
    """Replace the data files of the run by those in ``data``; if it is None, by those inside the folder.

    Raises UsageError if the data is outside of the folder and ``data`` is None, RunMismatchError if the
    number of files changed, DataError if the data cannot be read.
    """
    then = list(dict.fromkeys(piece.fragment.source for piece in run_manifest.pieces))
    if data is None:
        now = [_inside(source, folder) for source in then]
    else:
        now = find_sources(as_address(data) or data, then[0].encoding if then else None)
    if len(now) != len(then):
        message = f"The run in {folder.text} has data of {len(then):,} files, but {data} has {len(now):,}."
        raise RunMismatchError(message, hint="Name the data as it was at the time of the run.")
    named = dict(zip(then, now, strict=True))
    pieces = tuple(
        replace(piece, fragment=replace(piece.fragment, source=named[piece.fragment.source]))
        for piece in run_manifest.pieces
    )
    return replace(run_manifest, pieces=pieces)


@contextmanager
def wrap_damage(file: str) -> Iterator[None]:
    """Context manager that turns unexpected exceptions from damaged content into a StoreError."""
    try:
        yield
    except SgiError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise StoreError(
            f"{file} is damaged ({reason}).", hint="Nothing was changed. Take another copy of it."
        ) from error


def _inside(source: Source, folder: Folder) -> Source:
    root = None if as_address(folder.text) is not None else Path(folder.text).resolve()
    if root is None or as_address(source.place) is not None or not Path(source.place).is_absolute():
        inside = False
    else:
        path = Path(source.place).resolve()
        inside = path.is_relative_to(root) and path.is_file()
    if not inside:
        raise UsageError(
            f"The run in {folder.text} refers to rows in {source.place}, outside of the folder. The folder "
            "may come from someone else, so only files in it are opened.",
            hint="Give the path or address of the rows as `data`, if you trust it.",
        )
    return source
