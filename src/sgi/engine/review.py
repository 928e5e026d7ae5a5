"""Which answers of a run a person should check: those with a finding, and those with a low score."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.metrics.grounding.grounding_model import grounding_model
from sgi.metrics.grounding.language_tables import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

FINDING = "finding"
"""The key of the details that has the finding of a row."""
FINDINGS = ("contradicted", "fact missing")
"""The findings that need a check, the most serious first."""
FINDINGS_FIRST = (FINDING, *FINDINGS)
"""The key and the classes of the rows that a query returns first."""
LANGUAGE = "language"
"""The key of the details that has the language of a row."""
LOW_SCORE = "low score"
"""The kind of answers to check that have no finding."""


@dataclass(frozen=True)
class ReviewCounts:
    """Number of answers to check, under a metric with findings.

    Attributes:
        flagged: answers with a finding.
        low: further answers whose score is below ``limit``.
        limit: the score below which a sentence counts as unsupported.
        kinds: number of answers by kind of fact and verdict, such as ``number contradicted``.
        labelled: answers to check that have a label.
        wrong: answers to check with label 0.
        version: version of the metric.
        languages: number of answers in each language other than English.
    """

    flagged: int
    low: int
    limit: float
    kinds: Mapping[str, int]
    labelled: int = 0
    wrong: int = 0
    version: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of answers to check."""
        return self.flagged + self.low

    @property
    def all_kinds(self) -> dict[str, int]:
        """Number of answers by kind of flag, and with a low score alone."""
        return {**self.kinds, LOW_SCORE: self.low}


@dataclass(eq=False)
class ReviewAccumulator:
    """Collects the findings of a metric while a run is scored."""

    flagged: list[bool] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)

    def add(self, details: Iterable[Mapping[str, Any]]) -> None:
        """Add the details of the next rows."""
        for body in details:
            self.flagged.append(body.get(FINDING) in FINDINGS)
            self.kinds.update(flag_kinds(body))
            if body.get(LANGUAGE, ENGLISH) != ENGLISH:
                self.languages[body[LANGUAGE]] += 1

    def counts(self, values: NDArray[np.float64], labels: NDArray[np.int8], version: int) -> ReviewCounts:
        """Count the answers to check; ``labels`` are 1, 0, or −1 if unknown."""
        flagged = np.array(self.flagged, dtype=np.bool_)
        limit = low_limit()
        low = ~flagged & (values < limit)
        known = labels[flagged | low]
        return ReviewCounts(
            flagged=int(flagged.sum()),
            low=int(low.sum()),
            limit=limit,
            kinds=dict(self.kinds.most_common()),
            labelled=int((known >= 0).sum()),
            wrong=int((known == 0).sum()),
            version=version,
            languages=dict(self.languages.most_common()),
        )


def is_to_check(details: Mapping[str, Any], value: float | None) -> bool:
    """Return whether an answer has a finding or a low score; false if its metric has no findings."""
    finding = details.get(FINDING)
    return finding in FINDINGS or (finding is not None and value is not None and value < low_limit())


def low_limit() -> float:
    """Return the score below which an answer without a finding needs a check."""
    return grounding_model().sentence_limits.unsupported


def flag_kinds(details: Mapping[str, Any]) -> set[str]:
    """Return the kinds of facts that lead to a finding, with their verdicts; empty without a finding.

    >>> check = {"kind": "number", "verdict": "absent"}
    >>> flag_kinds({"finding": "fact missing", "sentences": [{"checks": [check, check]}]})
    {'number absent'}
    """
    if details.get(FINDING) not in FINDINGS:
        return set()
    return {
        f"{check['kind']} {check['verdict']}"
        for sentence in details.get("sentences", ())
        for check in sentence.get("checks", ())
        if check["verdict"] != "supported"
    }
