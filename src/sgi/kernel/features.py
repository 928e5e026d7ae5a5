"""What models computed for the rows of a metric: embeddings, token vectors, entailment probabilities."""

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
    """The features that a metric asked for; a feature that it did not ask for is not there.

    Attributes:
        by_embedder: the vectors of each embedder, by its name, the primary one first.
        failures: embedders that returned no vectors, with the reason.
        token_table: the token vectors; None for a metric without ``token_texts``.
        entailment_table: the entailment probabilities; None for a metric without ``pairs``.
    """

    by_embedder: Mapping[str, VectorTable] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    token_table: TokenTable | None = None
    entailment_table: EntailmentTable | None = None

    @classmethod
    def of(cls, *tables: VectorTable) -> Self:
        """Build features of vectors alone."""
        return cls({table.model: table for table in tables})

    @property
    def vectors(self) -> VectorTable:
        """The vectors of the primary embedder; an empty table where no text was embedded."""
        return next(iter(self.by_embedder.values()), VectorTable())

    @property
    def tokens(self) -> TokenTable:
        """The token vectors; LookupError where the metric did not ask for them."""
        if self.token_table is None:
            raise LookupError("no token vectors: the metric defines no token_model and token_texts")
        return self.token_table

    @property
    def entailments(self) -> EntailmentTable:
        """The entailment probabilities; LookupError where the metric did not ask for them."""
        if self.entailment_table is None:
            raise LookupError("no entailment probabilities: the metric defines no entailment_model and pairs")
        return self.entailment_table
