"""Features: the embeddings, token vectors and entailment probabilities that models compute for a metric."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from sgi.kernel.vectors import VectorTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.kernel.tokens import TokenTable
    from sgi.kernel.vectors import EntailmentTable


@dataclass(frozen=True, eq=False)
class Features:
    """The embeddings, token vectors and entailment probabilities that a metric requires, and no others.

    Attributes:
        by_embedder: the vectors of each embedder, by its name, the primary one first.
        failures: the reason for each embedder that returned no vectors, by its name.
        token_table: the token vectors; None for a metric without ``token_texts``.
        entailment_table: the entailment probabilities; None for a metric without ``pairs``.
        configured: the names of the embedders of the run, the primary one first.
    """

    by_embedder: Mapping[str, VectorTable] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    token_table: TokenTable | None = None
    entailment_table: EntailmentTable | None = None
    configured: tuple[str, ...] = ()

    @classmethod
    def of(cls, *tables: VectorTable) -> Self:
        """Build features that contain only these tables of vectors."""
        by_embedder = {table.model: table for table in tables}
        return cls(by_embedder, configured=tuple(by_embedder))

    @property
    def vectors(self) -> VectorTable:
        """The vectors of the primary embedder; an empty table if no text was embedded."""
        return next(iter(self.by_embedder.values()), VectorTable())

    @property
    def tokens(self) -> TokenTable:
        """The token vectors; raises LookupError if the metric does not require them."""
        if self.token_table is None:
            raise LookupError("no token vectors: the metric defines no token_model and token_texts")
        return self.token_table

    @property
    def entailments(self) -> EntailmentTable:
        """The entailment probabilities; raises LookupError if the metric does not require them."""
        if self.entailment_table is None:
            raise LookupError("no entailment probabilities: the metric defines no entailment_model and pairs")
        return self.entailment_table
