"""The score of one row in a test: without a value, comparisons fail with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import pytest

from sgi.reporting.formatting import beginning, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgi.kernel.metric import Score
    from sgi.kernel.sample import Sample

_LONGEST = 160


@dataclass(frozen=True, eq=False)
class RowScore:
    """The score of one row under one metric.

    Compare it with a number, as in ``assert score >= 0.5``. A comparison fails the test if the score has no
    value. The message of a failed assertion shows the evidence map, if the metric has one.
    """

    metric: str
    row: Sample
    score: Score

    def __ge__(self, other: float | RowScore) -> bool:
        return float(self) >= other

    def __gt__(self, other: float | RowScore) -> bool:
        return float(self) > other

    def __le__(self, other: float | RowScore) -> bool:
        return float(self) <= other

    def __lt__(self, other: float | RowScore) -> bool:
        return float(self) < other

    def __eq__(self, other: object) -> bool:
        return float(self) == other

    def __ne__(self, other: object) -> bool:
        return float(self) != other

    __hash__ = None  # type: ignore[assignment]  # equality depends on the value alone

    def __bool__(self) -> NoReturn:
        __tracebackhide__ = True
        raise TypeError(f"{self.metric} is a score, not a yes or no. Compare it with a number.")

    def __float__(self) -> float:
        if self.score.value is None:
            pytest.fail("\n".join([repr(self), *self.explanation()]), pytrace=False)
        return self.score.value

    def __repr__(self) -> str:
        name, score = f"{self.metric} of row {one_line(self.row.id)}", self.score
        if score.value is None:
            return f"{name} has no value: {score.status}: {score.reason}"
        return f"{name} is {score.value:.4f}"

    def explanation(self) -> Iterator[str]:
        """Yield the texts of the row, and the evidence map of the score."""
        from sgi.metrics.grounding.evidence_map import EvidenceMap
        from sgi.reporting.evidence_lines import map_lines
        from sgi.reporting.views.evidence_view import evidence_view

        for name in ("question", "response", "reference"):
            if text := getattr(self.row, name):
                yield f"{name}: {one_line(beginning(text, _LONGEST), longest=_LONGEST)}"
        evidence = EvidenceMap.read(self.score.details)
        if evidence is not None:
            view = evidence_view(evidence, self.row.contexts)
            yield from (line.plain.rstrip() for line in map_lines(view))


class RowScores:
    """The scores of one row, by metric."""

    def __init__(self, row: Sample, scores: Mapping[str, Score]) -> None:
        self.row = row
        self.scores = scores

    def __getitem__(self, metric: str) -> RowScore:
        """Return the score under a metric, by its canonical string or by its name alone."""
        from sgi.kernel.errors import UnknownNameError
        from sgi.kernel.registry import metric_name

        names = [name for name in self.scores if metric in {name, metric_name(name)}]
        if len(names) != 1:
            hint = f"It has: {', '.join(self.scores)}. Set sgi_metrics in the configuration file of pytest."
            raise UnknownNameError("metric of the scorer", metric, hint=hint)
        return RowScore(names[0], self.row, self.scores[names[0]])

    def __repr__(self) -> str:
        return "\n".join(repr(self[name]) for name in self.scores)
