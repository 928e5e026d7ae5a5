"""Values of rows from citation maps, and their `Scores`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.metric import Scores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.metrics.citations.citation_map import CitationMap


@dataclass(frozen=True)
class RowValue:
    """The value of a row, or the reason why it is undefined, with details."""

    value: float | None
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def recall_value(found: CitationMap) -> RowValue:
    """Return the share of the counted statements that are supported."""
    supported = [part.supported for part in found.statements if part.claims]
    return RowValue(supported.count(True) / len(supported), details=found.model_dump(mode="json"))


def precision_value(found: CitationMap) -> RowValue:
    """Return the share of the counted citations that are right."""
    verdicts = [part.verdict for citation in found.citations for part in citation.passages]
    counted = [verdict for verdict in verdicts if verdict != "unchecked"]
    if not counted:
        return RowValue(None, "no statement that could be supported has a citation")
    return RowValue(counted.count("right") / len(counted), details=found.model_dump(mode="json"))


def scores_of(rows: Sequence[RowValue]) -> Scores:
    """Join the values of rows."""
    reasons = dict.fromkeys(row.reason for row in rows if row.value is None)
    return Scores.of(
        np.array([np.nan if row.value is None else row.value for row in rows], dtype=np.float64),
        undefined={
            reason: np.array([row.value is None and row.reason == reason for row in rows], dtype=np.bool_)
            for reason in reasons
        },
        details=[row.details for row in rows],
    )
