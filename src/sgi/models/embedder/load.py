"""Opens an embedder by name."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.models.embedder.long_texts import LONG_TEXTS, LongTexts
from sgi.models.embedder.settings import embedder_files, require_prefix
from sgi.models.embedder.torch import TorchEmbedder
from sgi.models.known_models import DEFAULT_MODEL
from sgi.models.model_location import find_model, require_choice, require_threads

if TYPE_CHECKING:
    from pathlib import Path

    from sgi.kernel.protocols import Cache, Embedder

BACKENDS = ("auto", "onnx", "openvino", "torch")
"""The backends that can run a known model or a model in a folder."""

PRECISIONS = ("auto", "f32", "bf16", "int8")
"""The names of the arithmetic precisions."""

FAST = "fast"
"""The name that stands for the fastest of them; `sgi.engine.fast_profile` finds it."""


def load_embedder(
    name: str | Path = DEFAULT_MODEL,
    *,
    backend: str = "auto",
    precision: str = "auto",
    long_texts: LongTexts = LONG_TEXTS[0],
    cache: Cache | None = None,
    threads: int | None = None,
) -> Embedder:
    """Open an embedder by name; weights are loaded at first use.

    Args:
        name: a known model, which is looked for in the user's folder of models (``SGI_MODELS_DIR``) and then
            on the Hugging Face hub; a folder; ``torch:`` and a folder or a repository on the hub;
            ``openai:MODEL``; ``openai:MODEL@http://host:port/v1``; or ``azure:DEPLOYMENT``.
        backend: ``onnx``, ``openvino`` (extra ``openvino``), ``torch`` (extra ``torch``), or ``auto``: ONNX
            Runtime if the model has an ONNX graph, otherwise torch. Ignored for names with a colon.
        precision: ``f32``; with OpenVINO also ``bf16``, and ``int8`` for models with 8-bit weights; ``auto``
            is bf16 if backend and processor support it, otherwise f32 (torch: the precision of the weights).
        long_texts: ``windows`` reads a text that exceeds the token limit in the fewest windows that cover it,
            and averages their vectors; ``truncate`` reads its beginning. Remote models ignore it.
        cache: stores the vectors; None means no cache.
        threads: number of batches computed in parallel; None means all cores that this process may use.

    Raises:
        UnknownNameError: the model, the backend, the precision or the value of ``long_texts`` does not exist.
        UsageError: a setting is missing, or the backend does not support the precision.
        ModelMissingError: the files are not on this machine and cannot be downloaded.
        ModelCorruptError: the settings in a folder do not fit the model.
        MissingExtraError: an optional dependency is not installed.

    >>> load_embedder("minilm").fingerprint.partition("-")[0]
    'minilm@8199be6f'
    """
    require_choice("precision", precision, PRECISIONS)
    require_backend(backend, precision)
    require_long_texts(long_texts)
    require_threads(threads)
    embedder = _open(name, backend, precision, threads, long_texts)
    if cache is None:
        return embedder
    from sgi.models.cached_embedder import CachedEmbedder

    return CachedEmbedder(embedder, cache)


def require_backend(backend: str, precision: str) -> None:
    """Raise an error unless the backend exists, is installed, and supports the precision.

    Raises:
        UnknownNameError: the backend or the precision does not exist.
        UsageError: the backend, or this processor, does not support the precision.
        MissingExtraError: the backend is not installed.
    """
    require_choice("backend", backend, BACKENDS)
    require_choice("precision", precision, (*PRECISIONS, FAST))
    if backend == "openvino" and find_spec("openvino") is None:
        raise MissingExtraError("The openvino backend", "openvino")
    if precision == FAST:
        return
    if backend == "openvino":
        from sgi.models.embedder.openvino import supported_precision

        supported_precision(precision)
    elif precision not in {"auto", "f32"}:
        runtime = {"auto": "the default backend"}.get(backend, f"the backend {backend}")
        message = f"The precision {precision} is not available with {runtime}, which computes in float32."
        raise UsageError(message, hint='The backend "openvino" also supports bf16 and int8.')


def require_long_texts(value: str) -> None:
    """Raise an UnknownNameError unless the value is one of `LONG_TEXTS`."""
    require_choice("way to read long texts", value, LONG_TEXTS)


def _open(
    name: str | Path, backend: str, precision: str, threads: int | None, long_texts: LongTexts
) -> Embedder:
    prefix = name.partition(":")[0] if isinstance(name, str) and ":" in name else ""
    if prefix in {"openai", "azure"}:
        from sgi.models.embedder.remote import open_remote

        return open_remote(str(name))
    if prefix == "torch":
        return TorchEmbedder(str(name).removeprefix("torch:"), long_texts=long_texts)
    location = find_model(name)
    if location.needs_torch(backend):
        require_prefix(location)
        return TorchEmbedder(location.torch_source, precision=precision, long_texts=long_texts)
    files = embedder_files(location)
    if backend == "openvino":
        from sgi.models.embedder.openvino import OpenvinoEmbedder

        return OpenvinoEmbedder(files, precision=precision, threads=threads, long_texts=long_texts)
    from sgi.models.embedder.onnx import OnnxEmbedder

    return OnnxEmbedder(files, threads=threads, long_texts=long_texts)
