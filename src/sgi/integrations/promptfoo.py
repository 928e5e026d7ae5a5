"""promptfoo: a Python assertion that scores an output with metrics of SGI.

In ``promptfooconfig.yaml``, name a file with the line ``from sgi.integrations.promptfoo import get_assert``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.integrations.adapter import HostScorer, describe, explain
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.kernel.metric import Score

_PARTS = {"vars": "question", "metadata": "", "output": "response"}


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Score an output; return the result that promptfoo expects, with a component for each metric.

    The fields of the row are the variables of the test, and the metadata of the provider's response. The
    ``config`` of the assertion has:

    * ``metrics``: names of metrics, ``grounding`` by default;
    * ``thresholds``: the least value of a metric, such as ``{grounding: 0.5}``; a metric without a threshold
      passes with any value;
    * ``columns``, ``embedder``, ``judge`` and the other arguments of `sgi.Scorer`.

    The score is the value of the first metric; every value is a named score. A metric without a value does
    not pass, and has no named score; the reason says why. The named score ``METRIC.coverage`` is 1 with a
    value and 0 without, so its mean is the share of outputs with a value. promptfoo requires a score of
    every assertion, and has no error state for one in Python: without a value the score is 0, as promptfoo
    sets it if an assertion raises an error.

    Raises:
        UsageError: the ``config`` has an unknown setting or a threshold of another metric.

    >>> context = {
    ...     "vars": {"contexts": ["The tower was built in 1889."]},
    ...     "config": {"thresholds": {"grounding": 0.5}},
    ... }
    >>> result = get_assert("It was built in 1889.", context)
    >>> result["pass"], result["named_scores"]["grounding.coverage"]
    (True, 1)
    """
    config = dict(context.get("config") or {})
    thresholds = config.pop("thresholds", {})
    host = HostScorer(
        config.pop("metrics", "grounding"), config.pop("embedder", None), parts=_PARTS, **config
    )
    if others := sorted(thresholds.keys() - {*host.metrics}):
        raise UsageError(
            f"The threshold {others[0]!r} belongs to no metric of the assertion.",
            hint=f"Metrics: {', '.join(host.metrics)}.",
        )
    metadata = (context.get("providerResponse") or {}).get("metadata")
    scores = host.score(vars=context.get("vars") or {}, metadata=metadata, output=output)
    components = [_component(name, score, thresholds.get(name)) for name, score in scores.items()]
    values = {name: score.value for name, score in scores.items() if score.value is not None}
    return {
        "pass": all(component["pass"] for component in components),
        "score": components[0]["score"],
        "reason": " ".join(component["reason"] for component in components),
        "named_scores": values | {f"{name}.coverage": int(name in values) for name in scores},
        "component_results": components,
    }


def _component(name: str, score: Score, threshold: float | None) -> dict[str, Any]:
    if score.value is None:
        reason = (
            f"{name} has no value, {describe(score)}. The score is 0 because promptfoo requires a number."
        )
        return {"pass": False, "score": 0, "reason": reason}
    passed = threshold is None or score.value >= threshold
    limit = "" if threshold is None else f", {'at least' if passed else 'below'} {threshold:g}"
    reason = f"{name} is {score.value:.3g}{limit}. {explain(score)}".rstrip()
    return {"pass": passed, "score": score.value, "reason": reason}
