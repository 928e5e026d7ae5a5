"""Measures which runtime and precision compute one row fastest on this processor."""

from __future__ import annotations

from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from sgi.kernel.errors import UsageError
from sgi.models.embedder.load import load_embedder
from sgi.models.embedder.local import LocalEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_PRECISIONS = ("f32", "bf16", "int8")
"""The precisions of OpenVINO, the most precise first."""
_ROUNDS = 4
_MAX_TIME_SHARE = 0.9
"""A less precise arithmetic is chosen only if it needs at most this share of the time."""


class Candidate(NamedTuple):
    """A runtime with a precision; see `sgi.models.embedder.load.load_embedder`."""

    backend: str
    precision: str

    def __str__(self) -> str:
        return f"{self.backend} {self.precision}"


def find_candidates(name: str | Path, backend: str = "auto") -> dict[Candidate, LocalEmbedder]:
    """Return a model for each runtime and precision that are installed and that the processor supports.

    The most precise is first. None is opened yet; a model without 8-bit weights will not open with int8. The
    result is empty for a model that neither ONNX Runtime nor OpenVINO runs, such as a remote one.

    Args:
        name: the model, as for `load_embedder`.
        backend: the only runtime to use, or ``auto``.
    """
    return {
        arithmetic: embedder
        for arithmetic in _installed(backend)
        if isinstance(
            embedder := load_embedder(name, backend=arithmetic.backend, precision=arithmetic.precision),
            LocalEmbedder,
        )
    }


def time_candidates(
    candidates: Mapping[Candidate, LocalEmbedder], rows: Sequence[Sequence[str]]
) -> dict[Candidate, float]:
    """Return the seconds of each candidate for one row: the least mean over rounds in which they alternate.

    Candidates that do not open are left out.

    Args:
        candidates: the models.
        rows: the texts of each row; they are embedded row by row.
    """
    opened = {arithmetic: embedder for arithmetic, embedder in candidates.items() if _opens(embedder)}
    least = dict.fromkeys(opened, float("inf"))
    for round_number in range(_ROUNDS + 1):
        for arithmetic, embedder in opened.items():
            start = perf_counter()
            for texts in rows:
                embedder.encode(texts)
            if round_number:  # the first round warms up
                least[arithmetic] = min(least[arithmetic], (perf_counter() - start) / len(rows))
    return least


def choose(seconds: Mapping[Candidate, float]) -> Candidate:
    """Return the fastest; a less precise one must need at least 10 % less time than a more precise one.

    ``seconds`` has the most precise first.

    >>> choose({Candidate("onnx", "f32"): 0.020, Candidate("openvino", "int8"): 0.019}).precision
    'f32'
    >>> choose({Candidate("onnx", "f32"): 0.020, Candidate("openvino", "int8"): 0.012}).precision
    'int8'
    """
    best, *others = seconds
    for other in others:
        if seconds[other] <= _MAX_TIME_SHARE * seconds[best]:
            best = other
    return best


def _installed(backend: str) -> Iterator[Candidate]:
    if backend in {"auto", "onnx"}:
        yield Candidate("onnx", "f32")
    if backend in {"auto", "openvino"} and find_spec("openvino") is not None:
        from sgi.models.embedder.openvino import processor

        cpu = processor()
        supported: Iterable[bool] = (True, cpu.bf16, cpu.int8)
        for precision, is_supported in zip(_PRECISIONS, supported, strict=True):
            if is_supported:
                yield Candidate("openvino", precision)


def _opens(embedder: LocalEmbedder) -> bool:
    """Return whether the runtime opens the model with this precision: int8 needs 8-bit weights."""
    try:
        embedder.network()
    except UsageError:
        return False
    return True
