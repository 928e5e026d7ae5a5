"""Opens an embedder by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from sgi.kernel.entailment_profile import TORCH
from sgi.kernel.errors import UnknownNameError
from sgi.models.embedder.embedder_settings import embedder_files, require_prefix
from sgi.models.embedder.long_texts import LONG_TEXTS, LongTexts
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.models.embedder.torch_embedder import TorchEmbedder
from sgi.models.known_models import DEFAULT_MODEL
from sgi.models.model_location import find_model, require_threads

if TYPE_CHECKING:
    from pathlib import Path

    from sgi.kernel.protocols import Embedder


def load_embedder(
    name: str | Path = DEFAULT_MODEL,
    *,
    long_texts: LongTexts = LONG_TEXTS[0],
    threads: int | None = None,
) -> Embedder:
    """Open an embedder by name; weights are loaded at first use.

    ONNX Runtime runs a model that has an ONNX graph, in float32; torch (extra ``torch``) runs the others.

    Args:
        name: a known model, which is looked for in the user's folder of models (``SGI_MODELS_DIR``) and then
            on the Hugging Face hub; a folder; ``torch:`` and a folder or a repository on the hub;
            ``openai:MODEL``; ``openai:MODEL@http://host:port/v1``; or ``azure:DEPLOYMENT``.
        long_texts: ``windows`` reads a text that exceeds the token limit in the fewest windows that cover it,
            and averages their vectors; ``truncate`` reads its beginning. Remote models ignore it.
        threads: number of batches computed in parallel; None means all cores that this process may use.

    Raises:
        UnknownNameError: the model or the value of ``long_texts`` does not exist.
        UsageError: a setting is missing.
        ModelMissingError: the files are not on this machine and cannot be downloaded.
        ModelCorruptError: the settings in a folder do not fit the model.
        MissingExtraError: an optional dependency is not installed.

    >>> load_embedder("minilm").fingerprint.partition("-")[0]
    'minilm@8199be6f'
    """
    if long_texts not in LONG_TEXTS:
        near, known = difflib.get_close_matches(long_texts, LONG_TEXTS), ", ".join(LONG_TEXTS)
        raise UnknownNameError("way to read long texts", long_texts, tuple(near), hint=f"There are: {known}.")
    require_threads(threads)
    if isinstance(name, str) and name.startswith(("openai:", "azure:")):
        from sgi.models.embedder.remote import open_remote

        return open_remote(name)
    if isinstance(name, str) and name.startswith(TORCH):
        return TorchEmbedder(name.removeprefix(TORCH), long_texts=long_texts)
    location = find_model(name)
    if location.needs_torch:
        require_prefix(location)
        return TorchEmbedder(location.torch_source, long_texts=long_texts)
    return OnnxEmbedder(embedder_files(location), threads=threads, long_texts=long_texts)
