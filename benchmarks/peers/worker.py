"""A worker: it loads a peer, reads one command per line and replies with one line of JSON.

    python worker.py NAME SETTING      # a function of this file, and a file with its input as JSON

It runs in a peer's environment, so it uses only the standard library and the peer. The output of the peer
goes to standard error.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

    Pairs = list[tuple[str, str]]
    Loaded = tuple[Callable[[], Any], str]
    """The work, and the name and version of the peer."""


def sentence_transformers(texts: list[str], folder: str) -> Loaded:
    """Encode texts with the weights in a folder and default settings."""
    import sentence_transformers
    import torch

    model = sentence_transformers.SentenceTransformer(folder, device="cpu")
    name = f"sentence-transformers {sentence_transformers.__version__}, {torch.get_num_threads()} threads"
    return lambda: model.encode(texts).tolist(), name


def bert_score(pairs: Pairs, layers: int, folder: str) -> Loaded:
    """Score pairs with the weights in a folder and default settings."""
    import torch
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=folder, num_layers=layers, device="cpu")
    columns = [list(column) for column in zip(*pairs, strict=True)]
    name = f"bert-score {version('bert-score')}, {torch.get_num_threads()} threads"
    return lambda: [part.tolist() for part in scorer.score(*columns)], name


def factlens(rows: list[dict[str, str]], folder: str) -> Loaded:
    """Evaluate rows with the weights in a folder; one row loads everything."""
    from factlens import evaluate_batch

    evaluate_batch(rows[:1], model=folder)
    work = lambda: [score.value for score in evaluate_batch(rows, model=folder)]
    return work, f"factlens {version('factlens')}"


def ragas(pairs: Pairs) -> Loaded:
    """Score ROUGE-L, one row at a time, with the metric of ragas."""
    from ragas.dataset_schema import SingleTurnSample
    from ragas.metrics import RougeScore

    metric = RougeScore()
    samples = [SingleTurnSample(response=response, reference=reference) for response, reference in pairs]

    async def score() -> list[float]:
        return [await metric.single_turn_ascore(sample) for sample in samples]

    return lambda: asyncio.run(score()), f"ragas {version('ragas')}"


def deepeval(pairs: Pairs) -> Loaded:
    """Score ROUGE-L, one pair at a time, with the scorer of deepeval."""
    from deepeval.scorer import Scorer

    work = lambda: [Scorer.rouge_score(reference, response, "rougeL") for response, reference in pairs]
    return work, f"deepeval {version('deepeval')}"


def serve(out: TextIO, work: Callable[[], Any], name: str) -> None:
    """Write the name of the peer, and then run its work on each command ``run``."""
    result: Any = None

    def reply(content: dict[str, Any]) -> None:
        print(json.dumps(content), file=out, flush=True)

    reply({"name": name})
    for line in sys.stdin:
        if line.strip() == "run":
            start = time.perf_counter()
            result = work()
            reply({"seconds": time.perf_counter() - start})
        else:
            reply({"result": result})


if __name__ == "__main__":
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    function, setting = sys.argv[1:]
    serve(pipe, *globals()[function](**json.loads(Path(setting).read_text(encoding="utf-8"))))
