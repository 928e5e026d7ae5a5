"""The published door: ``from sgi.core import sgi``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgi.kernel.ports import Embedder


def sgi(q: str, c: str, r: str, embedder: Embedder | None = None) -> dict[str, float]:
    """The Semantic Grounding Index of one question, context and response.

    SGI = θ(r, q) / (θ(r, c) + 1e-8), the angles being those between the texts' embeddings. Above 1 the
    response is nearer the context than the question. It measures engagement with the context, not truth.

    Args:
        q: the question.
        c: the context.
        r: the response.
        embedder: what embeds the three texts; None for the embedded model.

    Returns:
        ``theta_rq`` and ``theta_rc`` in radians, in [0, π], and ``sgi``, in [0, ∞).

    Raises:
        UsageError: a text is blank.
        EmbedderError: the embedder gave no usable vector for one of the texts.

    Source: Marín (2025), arXiv:2512.13771, equation 3 and algorithm 1.

    >>> result = sgi("Who wrote Emma?", "Emma is a novel by Jane Austen.", "Jane Austen wrote it.")
    >>> sorted(result), result["sgi"] > 1
    (['sgi', 'theta_rc', 'theta_rq'], False)
    """
    from sgi.embed.load import load_embedder
    from sgi.geometry.grounding import compute_sgi
    from sgi.kernel.errors import UsageError
    from sgi.kernel.vectors import unit_rows

    texts = (q, c, r)
    for name, text in zip(("question", "context", "response"), texts, strict=True):
        if not text.strip():
            raise UsageError(f"The {name} is blank; it has no direction to measure.")
    rows = (embedder or load_embedder("minilm")).embed(texts)
    question, context, response = unit_rows("The embedder", texts, rows)
    found = compute_sgi(question, context, response)
    return {"theta_rq": found.theta_rq, "theta_rc": found.theta_rc, "sgi": found.sgi}
