"""Inspect AI: a scorer with metrics of SGI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from sgi.integrations.adapter import HostScorer, explain, nan_if_none
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.inspect_ai", "inspect-ai"):
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspect_ai.solver import TaskState

    from sgi.engine.open_resources import ModelKeywords
    from sgi.engine.run_options import EmbedderLike

_PARTS = {"input": "question", "output": "response", "target": "reference", "store": "", "metadata": ""}


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]  # no types where we check ours
def sgi_scorer(
    metrics: str | Sequence[str] = "grounding",
    embedder: EmbedderLike | None = None,
    columns: Mapping[str, str] | None = None,
    **options: Unpack[ModelKeywords],
) -> Scorer:
    """Return a scorer with the values METRIC and ``METRIC.coverage`` for each metric.

    A metric without a value is NaN, which Inspect counts as unscored: it is in no mean. The coverage is 1 for
    a sample with a value and 0 for one without, so its mean is the share of samples with a value. The reason
    of the score is the status ``undefined``, ``missing`` or ``failed``, and its explanation says why.

    Args:
        metrics: names of metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        columns: field → its place in ``input``, ``output``, ``target``, ``store`` or ``metadata``, such as
            ``{"contexts": "store.documents"}``, for the fields that are not found by their usual names.
        options: further arguments of `sgi.Scorer`, such as ``judge``.
    """
    host = HostScorer(metrics, embedder, parts=_PARTS, columns=columns, **options)

    async def score(state: TaskState, target: Target) -> Score:
        scores = await host.ascore(
            input=state.input_text,
            # Inspect has no absent output and no absent target: without a choice there is no answer, and a
            # blank target is what a sample without a target has.
            output=state.output.completion if state.output.choices else None,
            target=target.target if any(target.target) else None,
            store=state.store,
            metadata=state.metadata,
        )
        values: dict[str, float] = {}
        for name, each in scores.items():
            values |= {name: nan_if_none(each.value), f"{name}.coverage": float(each.value is not None)}
        unscored = [each for each in scores.values() if each.value is None]
        return Score(
            value=values,
            answer=state.output.completion,
            reason=unscored[0].status.value if unscored else None,
            explanation="\n".join(f"{name}: {explain(each) or 'ok'}" for name, each in scores.items()),
            metadata={name: each.status.value for name, each in scores.items()},
        )

    return score
