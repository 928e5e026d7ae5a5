"""Weave: a scorer that scores each row of an evaluation with metrics of SGI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, PrivateAttr

from sgi.integrations.adapter import HostScorer, average, explain
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.weave", "weave"):
    import weave

if TYPE_CHECKING:
    from sgi.kernel.metric import Score

_PARTS = {"output": "response", "inputs": "question"}


class SgiScorer(weave.Scorer):  # type: ignore[misc]  # the base has no types where we check ours
    """Scores a row: for each metric ``value``, ``status`` and ``text``.

    A row without a value has None; ``status`` and ``text`` say why. The summary of an evaluation has the mean
    of each metric and its coverage, the share of rows with a value.

    Attributes:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        columns: field → its place in ``output`` or ``inputs``, such as ``{"contexts": "output.hits"}``, for
            the fields that are not found by their usual names. ``inputs`` has the columns of the dataset.
        options: further arguments of `sgi.Scorer`, such as ``judge``.
    """

    metrics: Any = "grounding"
    embedder: Any = None
    columns: dict[str, str] | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    _host: HostScorer = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the configuration, and open the models."""
        super().model_post_init(context)
        self._host = HostScorer(
            self.metrics, self.embedder, parts=_PARTS, columns=self.columns, **self.options
        )

    @weave.op  # type: ignore[untyped-decorator]
    async def score(self, *, output: Any, **inputs: Any) -> dict[str, Any]:
        """Score the output of the model for one row of the dataset."""
        scores = await self._host.ascore(output=output, inputs=inputs)
        return {name: _cell(score) for name, score in scores.items()}

    @weave.op  # type: ignore[untyped-decorator]
    def summarize(self, score_rows: list[Any]) -> dict[str, Any]:
        """Return the mean of each metric, as `sgi.evaluate` computes it, and its coverage.

        A row whose model failed has no scores; it counts as a row without a value.
        """
        rows = {
            name: [row[name]["value"] if row else None for row in score_rows] for name in self._host.metrics
        }
        return {name: average(name, values)._asdict() for name, values in rows.items()}


def _cell(score: Score) -> dict[str, Any]:
    return {"value": score.value, "status": score.status.value, "text": explain(score)}
