"""Known models as data: where their files lie, what they read, how their tokens become one row.

Only ``minilm`` travels with the package; the others are looked for in the user's folder of models, and come
from the Hugging Face hub (extra ``hub``) as the ONNX files their authors publish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True)
class ModelRecord:
    """The facts of a model.

    Attributes:
        name: what it is called here.
        hub: its repository on the hub.
        dimension: the length of its rows.
        limit: the most tokens it reads, special ones included; the rest of a text is cut.
        pooling: ``mean`` of all tokens, or the first one (``cls``).
        licence: of the weights, as SPDX.
        prefix: put before every text. A model trained with one prefix for queries and another for passages
            gets the one its card gives for symmetric tasks: here any text is compared with any other.
        embedded: whether its files come with the package.
        alias: a short name it also goes by, that of the SGI paper (arXiv:2512.13771).
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
"""The model that needs no network."""

HUB_GRAPH = "onnx/model.onnx"
"""Where a hub repository keeps its ONNX graph."""

HUB_TOKENIZER = "tokenizer.json"
"""Where a hub repository keeps its tokenizer."""

_MINILM = "sentence-transformers/all-MiniLM-L6-v2"

MODELS: dict[str, ModelRecord] = {
    record.name: record
    for record in (
        ModelRecord("minilm", _MINILM, 384, 256, "mean", "Apache-2.0", embedded=True),
        ModelRecord("all-MiniLM-L6-v2", _MINILM, 384, 256, "mean", "Apache-2.0"),
        ModelRecord(
            "all-mpnet-base-v2",
            "sentence-transformers/all-mpnet-base-v2",
            768,
            384,
            "mean",
            "Apache-2.0",
            alias="mpnet",
        ),
        ModelRecord("bge-base-en-v1.5", "BAAI/bge-base-en-v1.5", 768, 512, "cls", "MIT", alias="bge"),
        ModelRecord("e5-base-v2", "intfloat/e5-base-v2", 768, 512, "mean", "MIT", "query: ", alias="e5"),
        ModelRecord("gte-base", "thenlper/gte-base", 768, 512, "mean", "MIT", alias="gte"),
    )
}
"""Every model known by name.

>>> MODELS["e5-base-v2"].prefix
'query: '
"""

ALIASES: dict[str, ModelRecord] = {record.alias: record for record in MODELS.values() if record.alias}
"""The models that have a short name, by it."""


def known_model(name: str) -> ModelRecord | None:
    """The model of this name or short name, if any.

    >>> known_model("mpnet").name
    'all-mpnet-base-v2'
    """
    return MODELS.get(name) or ALIASES.get(name)
