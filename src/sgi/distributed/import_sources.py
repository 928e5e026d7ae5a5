"""What importing a folder of partitions may read: the folder itself, and the data that the user names.

The folder may come from someone else. Its ``run.json`` names the files of the data, by path or address, and
these names are not followed: they could be any file of this machine, or an address that is contacted with the
user's credentials.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.distributed.addresses import as_address
from sgi.distributed.storage import Source, sources
from sgi.kernel.errors import RunMismatchError, SgiError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.distributed.manifest import KeptRun
    from sgi.distributed.storage import Folder


def require_own_files(folder: Folder) -> None:
    """Raise unless the files that an import opens are plain files of the folder.

    Raises:
        StoreError: one is a link that leads out of the folder, or no file.
    """
    if as_address(folder.text) is not None:
        return  # object stores have no links; the user named the address
    root = Path(folder.text).resolve()
    for name in sorted(folder.names()):
        path = Path(folder.text) / name
        if (name == "run.json" or name.startswith("part-")) and not (
            path.is_file() and path.resolve().is_relative_to(root)
        ):
            raise StoreError(
                f"{folder.shown(name)} is not a file of the folder.",
                hint="Put the file itself there if you trust it.",
            )


def with_named_sources(kept: KeptRun, folder: Folder, data: str | None) -> KeptRun:
    """The run with the files of its data as the user named them, or as they lie in the folder.

    Args:
        kept: the run, as the folder describes it.
        folder: where it is.
        data: the path or address of the data; None where it lies in the folder.

    Raises:
        UsageError: the data lies elsewhere and was not named.
        RunMismatchError: it is not so many files as it was.
        DataError: it cannot be read.
    """
    then = list(dict.fromkeys(piece.fragment.source for piece in kept.pieces))
    if data is None:
        now = [_inside(source, folder) for source in then]
    else:
        now = sources(as_address(data) or data, then[0].encoding if then else None)
    if len(now) != len(then):
        message = f"The run in {folder.text} has data of {len(then):,} files, and {data} is {len(now):,}."
        raise RunMismatchError(message, hint="Name the data as it was when the run was done.")
    named = dict(zip(then, now, strict=True))
    pieces = tuple(
        replace(piece, fragment=replace(piece.fragment, source=named[piece.fragment.source]))
        for piece in kept.pieces
    )
    return replace(kept, pieces=pieces)


@contextmanager
def damage_in(file: str) -> Iterator[None]:
    """Turns whatever goes wrong over damaged content into an error that names the file.

    Raises:
        StoreError: something other than an `SgiError` was raised.
    """
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
    """The file, where it lies in the folder."""
    root = None if as_address(folder.text) is not None else Path(folder.text).resolve()
    if root is None or as_address(source.place) is not None or not Path(source.place).is_absolute():
        inside = False
    else:
        path = Path(source.place).resolve()
        inside = path.is_relative_to(root) and path.is_file()
    if not inside:
        raise UsageError(
            f"The rows of the run in {folder.text} are in {source.place}, outside of the folder. A folder "
            "may come from someone else, so what it names is not opened.",
            hint="Name the data yourself: --data PATH, or its address.",
        )
    return source
