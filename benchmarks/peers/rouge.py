"""Score ROUGE-L over pairs with another toolkit.

The setting names the toolkit: ``ragas`` (metric `RougeScore`), ``deepeval`` (`Scorer`) or ``rouge_score``
(`RougeScorer`, created once), which the other two call.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from worker import serve

if TYPE_CHECKING:
    from collections.abc import Callable

Pairs = list[tuple[str, str]]


def ragas(pairs: Pairs) -> Callable[[], Any]:
    """Score one row at a time with the metric of ragas."""
    from ragas.dataset_schema import SingleTurnSample
    from ragas.metrics import RougeScore

    metric = RougeScore()
    samples = [SingleTurnSample(response=response, reference=reference) for response, reference in pairs]

    async def score() -> list[float]:
        return [await metric.single_turn_ascore(sample) for sample in samples]

    return lambda: asyncio.run(score())


def deepeval(pairs: Pairs) -> Callable[[], Any]:
    """Score one pair at a time with the scorer of deepeval."""
    from deepeval.scorer import Scorer

    return lambda: [Scorer.rouge_score(reference, response, "rougeL") for response, reference in pairs]


def rouge_score(pairs: Pairs) -> Callable[[], Any]:
    """Score with the reference implementation; the scorer is created once."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)

    def score() -> list[float]:
        return [scorer.score(reference, response)["rougeL"].fmeasure for response, reference in pairs]

    return score


TOOLKITS = {"ragas": ragas, "deepeval": deepeval, "rouge_score": rouge_score}


def load(setting: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, Any]]:
    """Import the toolkit; return its work and version."""
    name = setting["toolkit"]
    return TOOLKITS[name](setting["pairs"]), {"version": version(name.replace("_", "-"))}


if __name__ == "__main__":
    serve(load)
