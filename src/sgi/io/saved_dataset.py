"""Find the Arrow files of a folder that ``datasets.save_to_disk`` wrote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sgi.io.columns import join_names
from sgi.io.text_file import open_bytes
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

_STATE, _SPLITS = "state.json", "dataset_dict.json"
_MAX_STATE = 16_000_000
_SHOWN = 10


def is_saved_dataset(path: Path) -> bool:
    """Return whether a path is a folder with a dataset, or with the splits of one."""
    return any((path / name).is_file() for name in (_STATE, _SPLITS))


def dataset_files(folder: Path) -> list[Path]:
    """Return the Arrow files of a dataset, in order, or of the only split.

    Raises DataError if there are several splits, or the description of the folder cannot be read.
    """
    while not (folder / _STATE).is_file():
        splits = [folder / _file_name(folder / _SPLITS, name) for name in _listed(folder / _SPLITS, "splits")]
        if len(splits) != 1 or not (splits[0] / _STATE).is_file():
            names = join_names([repr(split.name) for split in splits], _SHOWN)
            hint = f"Name the folder of one, such as {splits[0]}." if splits else "Save it again."
            raise DataError(f"has the splits {names or 'of no dataset'}", file=str(folder), hint=hint)
        folder = splits[0]
    state = folder / _STATE
    files = [
        folder / _file_name(state, entry.get("filename") if isinstance(entry, dict) else None)
        for entry in _listed(state, "_data_files")
    ]
    if not files:
        raise DataError("holds no rows", file=str(folder))
    return files


def _listed(file: Path, key: str) -> list[Any]:
    with open_bytes(file) as stream:
        text = stream.read(_MAX_STATE)
    try:
        return [*json.loads(text)[key]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"does not list {key!r}, as `datasets.save_to_disk` writes it"
        raise DataError(message, file=str(file), hint="Save the dataset again.") from error


def _file_name(file: Path, name: object) -> str:
    """Return a name; raises DataError for one that leads out of the folder."""
    if not isinstance(name, str) or name in {"", ".", ".."} or set(name) & set("/\\\0:"):
        raise DataError(f"names {str(name)[:60]!r}, which is not a file in its folder", file=str(file))
    return name
