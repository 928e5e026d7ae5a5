"""Compute the retrieval metrics of one tool on small cases, and print them as JSON.

Run it in an environment with the tool: ``TOOL`` is mlflow, llama_index, haystack or trec_eval.

    .venv-integrations/mlflow/bin/python scripts/retrieval_peers.py mlflow
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Ids = list[str]
K = 5
CASES: dict[str, tuple[str, Ids, Ids]] = {
    "1 passage retrieved, a hit; 5 are relevant: nDCG@5": ("ndcg", ["a"], ["a", "b", "c", "d", "e"]),
    "the same: recall": ("recall", ["a"], ["a", "b", "c", "d", "e"]),
    "1 passage retrieved, a hit: precision@5": ("precision", ["a"], ["a", "b"]),
    "nothing retrieved, nothing relevant: nDCG@5": ("ndcg", [], []),
    "nothing retrieved, nothing relevant: recall": ("recall", [], []),
    "one id three times, 1 relevant: nDCG@5": ("ndcg", ["a", "a", "a"], ["a"]),
    "one id three times, 1 relevant: average precision": ("map", ["a", "a", "a"], ["a"]),
    "hits at ranks 2 and 4, 3 relevant: nDCG@5": ("ndcg", ["x", "a", "y", "b", "z"], ["a", "b", "c"]),
    "hits at ranks 2 and 4, 3 relevant: average precision": (
        "map",
        ["x", "a", "y", "b", "z"],
        ["a", "b", "c"],
    ),
    "first hit at rank 2: reciprocal rank": ("mrr", ["x", "a", "y"], ["a"]),
}
"""Name → metric, retrieved ids in order, ids of the relevant passages."""


def mlflow(metric: str, retrieved: Ids, gold: Ids) -> float:
    """Return a value of MLflow, which has precision, recall and nDCG at k."""
    import mlflow.metrics
    import pandas as pd

    function = getattr(mlflow.metrics, f"{metric}_at_k")(K).eval_fn
    return float(function(pd.Series([retrieved]), pd.Series([gold])).scores[0])


def llama_index(metric: str, retrieved: Ids, gold: Ids) -> float:
    """Return a value of LlamaIndex, whose metrics read all retrieved ids."""
    from llama_index.core.evaluation.retrieval import metrics

    names = {"ndcg": "NDCG", "map": "AveragePrecision", "mrr": "MRR"}
    kind = getattr(metrics, names.get(metric, metric.title()))
    return float(kind().compute(retrieved_ids=retrieved, expected_ids=gold).score)


def haystack(metric: str, retrieved: Ids, gold: Ids) -> float:
    """Return a value of Haystack with its default settings; documents are equal if their contents are."""
    from haystack import Document
    from haystack.components import evaluators

    names = {"ndcg": "NDCG", "map": "MAP", "mrr": "MRR", "recall": "Recall"}
    kind = getattr(evaluators, f"Document{names[metric]}Evaluator")
    documents = [[Document(content=name) for name in ids] for ids in (gold, retrieved)]
    result = kind().run(ground_truth_documents=documents[:1], retrieved_documents=documents[1:])
    return float(result["individual_scores"][0])


def trec_eval(metric: str, retrieved: Ids, gold: Ids) -> float:
    """Return a value of trec_eval; a dictionary cannot hold an id twice."""
    import pytrec_eval

    if len({*retrieved}) < len(retrieved):
        raise KeyError("an id occurs twice")
    names = {"ndcg": "ndcg_cut_5", "recall": "recall_5", "precision": "P_5", "mrr": "recip_rank"}
    measure = names.get(metric, metric)
    family, _, k = measure.rpartition("_")
    evaluator = pytrec_eval.RelevanceEvaluator(
        {"q": dict.fromkeys(gold, 1)}, {f"{family}.{k}" if k.isdecimal() else measure}
    )
    run = {name: -float(rank) for rank, name in enumerate(retrieved)}
    return float(evaluator.evaluate({"q": run})["q"][measure])


TOOLS: Mapping[str, tuple[str, str, Callable[[str, Ids, Ids], float]]] = {
    "trec_eval": ("trec_eval (pytrec-eval-terrier", "pytrec-eval-terrier", trec_eval),
    "mlflow": ("MLflow", "mlflow", mlflow),
    "llama_index": ("LlamaIndex", "llama-index-core", llama_index),
    "haystack": ("Haystack", "haystack-ai", haystack),
}


def values_of(tool: str) -> dict[str, Any]:
    """Return the name of a tool with its version, and the value or the error of each case."""
    name, package, compute = TOOLS[tool]
    values: dict[str, float | str | None] = {}
    for case, (metric, retrieved, gold) in CASES.items():
        try:
            values[case] = compute(metric, retrieved, gold)
        except (AttributeError, KeyError):
            values[case] = None  # the tool has no such metric, or no result for the case
        except ValueError as error:
            values[case] = f"error: {error}"
    closing = ")" if "(" in name else ""
    return {"tool": f"{name} {version(package)}{closing}", "values": values}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(values_of(sys.argv[1])))
