"""The known embedding models: repository, dimension, token limit, pooling.

Only ``minilm`` is installed with the package. The ONNX files that the authors of the other models publish are
looked for in the user's folder of models, then on the Hugging Face hub (extra ``hub``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True)
class ModelRecord:
    """A known embedding model.

    Attributes:
        name: the name in this package.
        hub: its repository on the Hugging Face hub.
        dimension: the length of its vectors.
        limit: its maximum number of tokens, including special tokens; longer texts are truncated.
        pooling: ``mean`` of all token vectors, or the first one (``cls``).
        licence: the licence of the weights (SPDX).
        prefix: a string that is put before every text. If a model has different prefixes for queries and
            passages, it is the one that the model card recommends for symmetric tasks.
        embedded: whether its files are installed with the package.
        alias: its short name in the SGI paper (arXiv:2512.13771).
    """

    name: str
    hub: str
    dimension: int
    limit: int
    pooling: Pooling
    licence: str
    prefix: str = ""
    embedded: bool = False
    alias: str = ""


DEFAULT_MODEL = "minilm"
"""The model that is installed with the package."""

HUB_GRAPH = "onnx/model.onnx"
"""The path of the ONNX graph in a repository on the hub."""

HUB_TOKENIZER = "tokenizer.json"
"""The path of the tokenizer in a repository on the hub."""

_MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_MPNET = "sentence-transformers/all-mpnet-base-v2"

MODELS: dict[str, ModelRecord] = {
    record.name: record
    for record in (
        ModelRecord("minilm", _MINILM, 384, 256, "mean", "Apache-2.0", embedded=True),
        ModelRecord("all-MiniLM-L6-v2", _MINILM, 384, 256, "mean", "Apache-2.0"),
        ModelRecord("all-mpnet-base-v2", _MPNET, 768, 384, "mean", "Apache-2.0", alias="mpnet"),
        ModelRecord("bge-base-en-v1.5", "BAAI/bge-base-en-v1.5", 768, 512, "cls", "MIT", alias="bge"),
        ModelRecord("e5-base-v2", "intfloat/e5-base-v2", 768, 512, "mean", "MIT", "query: ", alias="e5"),
        ModelRecord("gte-base", "thenlper/gte-base", 768, 512, "mean", "MIT", alias="gte"),
    )
}
"""The known models by name."""

ALIASES: dict[str, ModelRecord] = {record.alias: record for record in MODELS.values() if record.alias}
"""The known models by short name."""


def known_model(name: str) -> ModelRecord | None:
    """Return the known model with this name or short name, or None."""
    return MODELS.get(name) or ALIASES.get(name)
