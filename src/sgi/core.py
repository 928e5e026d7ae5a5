"""The published import: ``from sgi.core import sgi``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.protocols import Embedder


class Encoder(Protocol):
    """A model of texts, such as a SentenceTransformer."""

    def encode(self, texts: Any, /) -> Any:
        """Return one vector for each text."""


class _EncoderEmbedder:
    """Embeds texts with an `Encoder`."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.fingerprint = f"{type(encoder).__name__}@caller"

    def embed(self, texts: Sequence[str], /) -> Any:
        return self._encoder.encode([*texts])


class TruncatedText(NamedTuple):
    """A truncated text; its counts are None if the model does not count tokens."""

    field: str
    """``question``, ``context`` or ``response``; with several contexts, ``context 1`` and so on."""
    tokens: int | None
    """The number of tokens of the whole text, including special tokens."""
    limit: int | None
    """The number of tokens that the model reads."""

    def __str__(self) -> str:
        if self.tokens is None or self.limit is None:
            return f"the {self.field} is longer than the model reads; its end has no effect"
        return f"the {self.field} has {self.tokens:,} tokens; the model reads {self.limit:,}"


def sgi(
    q: str, c: str | Sequence[str], r: str, embedder: Embedder | Encoder | None = None
) -> dict[str, float]:
    """Compute the Semantic Grounding Index of one question, context and response.

    SGI = θ(r, q) / (θ(r, c) + 1e-8), where θ is the angle between two texts' embeddings. Above 1 the
    response is nearer the context than the question. It measures engagement with the context, not truth.

    Args:
        q: the question.
        c: one context or several; the one nearest to the response is used, as in the metric ``sgi``.
        r: the response.
        embedder: the model that embeds the texts: an `Embedder`, or an object whose ``encode(texts)`` returns
            one vector for each text, such as a SentenceTransformer, whose truncation is not reported. None
            for the bundled model, which reads any length.

    Returns:
        ``theta_rq`` and ``theta_rc`` in radians, in [0, π], and ``sgi``, in [0, ∞). For a list of contexts
        also ``context``, the index of the nearest.

    Raises:
        UsageError: the embedder is not one, a text is blank, the vocabulary of the embedder covers too few
            of its letters, or there is no context.
        EmbedderError: the embedder returned no usable vector for a text.

    Warns:
        TruncationWarning: the embedder truncated a text; its end has no effect.

    Source: Marín (2025), arXiv:2512.13771, equation 3 and algorithm 1.

    >>> result = sgi("Who wrote Emma?", "Emma is a novel by Jane Austen.", "Jane Austen wrote it.")
    >>> sorted(result), result["sgi"] > 1
    (['sgi', 'theta_rc', 'theta_rq'], False)
    """
    from sgi.kernel.errors import TruncationWarning

    result, truncated = sgi_with_truncation(q, c, r, embedder)
    for text in truncated:
        warnings.warn(str(text), TruncationWarning, stacklevel=2)
    return result


def sgi_with_truncation(
    q: str, c: str | Sequence[str], r: str, embedder: Embedder | Encoder | None = None
) -> tuple[dict[str, float], list[TruncatedText]]:
    """Compute `sgi` and list the truncated texts, without a warning.

    >>> from sgi import load_embedder
    >>> model, context = load_embedder(long_texts="truncate"), "Emma is a novel. " * 200
    >>> sgi_with_truncation("Who wrote Emma?", context, "Jane Austen.", model)[1]
    [TruncatedText(field='context', tokens=1002, limit=256)]
    """
    from sgi.geometry.sgi_ratio import compute_sgi
    from sgi.kernel.errors import UsageError
    from sgi.kernel.protocols import TokenCounter, embedder_name, encode
    from sgi.kernel.vectors import unit_rows
    from sgi.models.embedder.load_embedder import load_embedder
    from sgi.text.read_share import unread_by_model

    contexts = [c] if isinstance(c, str) else [*c]
    if not contexts:
        raise UsageError("A context is required.")
    numbered = [f"context {number}" for number in range(1, len(contexts) + 1)]
    fields = ["question", "response", *(numbered if len(contexts) > 1 else ["context"])]
    texts = (q, r, *contexts)
    for field, text in zip(fields, texts, strict=True):
        if not text.strip():
            raise UsageError(f"The {field} is blank; it has no direction to measure.")
    model = load_embedder() if embedder is None else _checked_embedder(embedder)
    rows, cut, _, unread = encode(model, texts)
    for field, is_unread in zip(fields, unread.tolist(), strict=True):
        if is_unread:
            reason, _, hint = unread_by_model(embedder_name(model), field).partition("; ")
            raise UsageError(f"{reason[0].upper()}{reason[1:]}.", hint=f"{hint[0].upper()}{hint[1:]}.")
    truncated = []
    for field, text, is_cut in zip(fields, texts, cut.tolist(), strict=True):
        if is_cut:
            counter = model if isinstance(model, TokenCounter) else None
            tokens = None if counter is None else counter.token_counts([text])[0]
            truncated.append(TruncatedText(field, tokens, None if counter is None else counter.limit))
    question, response, *passages = unit_rows("The embedder", texts, rows)
    scores = [compute_sgi(question, passage, response) for passage in passages]
    nearest = max(range(len(scores)), key=lambda index: scores[index].sgi)
    best = scores[nearest]
    result = {"theta_rq": best.theta_rq, "theta_rc": best.theta_rc, "sgi": best.sgi}
    return result | ({} if isinstance(c, str) else {"context": nearest}), truncated


def _checked_embedder(value: object) -> Embedder:
    """Return an embedder, or one that uses an `Encoder`. Raises UsageError for other objects."""
    from sgi.kernel.protocols import not_an_embedder

    if callable(getattr(value, "embed", None)):
        return cast("Embedder", value)
    if callable(getattr(value, "encode", None)):
        return _EncoderEmbedder(cast("Encoder", value))
    raise not_an_embedder(value)
