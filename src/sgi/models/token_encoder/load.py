"""Opens a token encoder by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.kernel.errors import UsageError
from sgi.models.embedder.load import load_embedder
from sgi.models.embedder.onnx import OnnxEmbedder
from sgi.models.embedder.torch import TorchEmbedder
from sgi.models.token_encoder.onnx import OnnxTokenNetwork
from sgi.models.token_encoder.torch import TorchTokenNetwork
from sgi.models.token_encoder.windowed_encoder import WindowedTokenEncoder

if TYPE_CHECKING:
    from sgi.kernel.protocols import Embedder
    from sgi.kernel.tokens import TokenModel


def load_token_encoder(model: TokenModel, *, threads: int | None = None) -> WindowedTokenEncoder:
    """Open a token encoder; weights are loaded at first use.

    Args:
        model: the name of the model, as for `sgi.models.embedder.load.load_embedder`, and the layer. With
            torch it can be any layer, with a model in ONNX form only the last.
        threads: number of batches computed in parallel; None means all cores that this process may use.

    Raises:
        UnknownNameError: the model does not exist.
        UsageError: the model does not return token vectors, or not those of that layer.
        ModelMissingError: the files are not on this machine and cannot be downloaded.
        MissingExtraError: an optional dependency is not installed.

    >>> from sgi.kernel.tokens import TokenModel
    >>> load_token_encoder(TokenModel("minilm")).fingerprint.partition("-")[0]
    'tokens:minilm[last]@8199be6f'
    """
    return token_encoder(load_embedder(model.name, threads=threads), model)


def token_encoder(embedder: Embedder, model: TokenModel) -> WindowedTokenEncoder:
    """Return the encoder that uses the model of an embedder; the errors are those of `load_token_encoder`."""
    if isinstance(embedder, TorchEmbedder):
        return WindowedTokenEncoder(TorchTokenNetwork(embedder.source, model.layer))
    if not isinstance(embedder, OnnxEmbedder):
        message = f"{model.name} does not return token vectors, only one vector for each text."
        raise UsageError(message, hint="Name a known model (`sgi models`), a folder, or torch:NAME.")
    if model.layer is not None:
        message = f"{model.name}, in ONNX form, returns only its last layer, not layer {model.layer}."
        raise UsageError(
            message, hint="Torch returns every layer: name the model torch:NAME or torch:FOLDER."
        )
    return WindowedTokenEncoder(OnnxTokenNetwork(embedder))
