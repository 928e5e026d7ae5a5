"""Downloads files of models from the Hugging Face hub."""

from __future__ import annotations

import logging
import os
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.kernel.errors import ModelMissingError, require_extra

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCAL_ONLY: ContextVar[bool] = ContextVar("local_only", default=False)


@contextmanager
def local_files_only() -> Iterator[None]:
    """Context manager in whose block `download` uses only files that are on this machine."""
    token = _LOCAL_ONLY.set(True)
    try:
        yield
    finally:
        _LOCAL_ONLY.reset(token)


def is_local_only() -> bool:
    """Return whether the code runs inside a block of `local_files_only`."""
    return _LOCAL_ONLY.get()


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Context manager that silences the messages of the Hugging Face hub; SGI reports errors itself."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.ERROR)  # of retries
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "IProgress not found")  # of tqdm in a notebook
            yield
    finally:
        logger.setLevel(level)


def models_folder() -> Path:
    """Return the user's folder of models: ``SGI_MODELS_DIR`` if set, or ``sgi/models`` in the data folder."""
    from platformdirs import user_data_path

    folder = os.environ.get("SGI_MODELS_DIR")
    return Path(folder).expanduser() if folder else user_data_path("sgi", appauthor=False) / "models"


def download(repository: str, file: str, *, name: str) -> Path:
    """Return the local copy of a file; download it if needed.

    Nothing is downloaded if ``HF_HUB_OFFLINE=1`` is set, or in a block of `local_files_only`.

    Args:
        repository: ``owner/model``.
        file: the path of the file in the repository.
        name: the name of the model's folder in the user's folder of models, for the error.

    Raises:
        MissingExtraError: huggingface_hub is not installed.
        ModelMissingError: the file is not on this machine and the download fails.
    """
    with require_extra(f"Downloading the model {repository}", "hub"), quiet_hub():
        from huggingface_hub import hf_hub_download
    try:
        with quiet_hub():
            return Path(hf_hub_download(repository, file, local_files_only=is_local_only()))
    except Exception as error:  # a broken connection raises an error of the hub's HTTP client
        reason = type(error).__name__
        message = (
            f"{file} of the model {repository} is not on this machine and could not be downloaded ({reason})."
        )
        hint = (
            f"To download it from https://huggingface.co/{repository}, connect to the network and unset "
            f"HF_HUB_OFFLINE; or put the model's folder at {models_folder() / name}; or name another folder."
        )
        raise ModelMissingError(message, hint=hint) from error


def download_if_present(repository: str, file: str, *, name: str) -> bool:
    """Download an optional file; return whether the model has it.

    Raises:
        MissingExtraError: huggingface_hub is not installed.
        ModelMissingError: the hub is unreachable, and the local cache does not show whether the file exists.
            The file could change the results, so the model is not used without it.
    """
    try:
        download(repository, file, name=name)
    except ModelMissingError as missing:
        if _is_absent(repository, file, missing.__cause__):
            return False
        reason = type(missing.__cause__).__name__
        message = (
            f"It is not known whether the model {repository} has {file}: the hub is unreachable ({reason})."
        )
        raise ModelMissingError(message, hint=missing.hint) from missing.__cause__
    return True


def _is_absent(repository: str, file: str, error: BaseException | None) -> bool:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    if isinstance(error, LocalEntryNotFoundError):  # not in the cache, and no request was sent
        cached = try_to_load_from_cache(repository, file)
        return cached is not None and not isinstance(cached, str)  # the marker of a file that does not exist
    return isinstance(error, EntryNotFoundError)
