"""Compare BERTScore with the package bert-score on the same weights and pairs.

    python benchmarks/bertscore.py [--quick]

Both use the weights of the embedded model and all cores. SGI runs its engine without database and cache, so
its time includes planning, tokenizing, embedding, matching and accounting.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Figure, benchmark_main, seconds_of, time_alternately
from material import pairs, rows
from peer_processes import NotInstalledError, PeerError, peer
from peer_weights import same_weights
from sgi.engine.resources import Resources
from sgi.kernel.tokens import TokenModel
from sgi.models.token_encoder.load import load_token_encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sgi.kernel.protocols import TokenEncoder

PAIRS = 300
TARGET = 3.0
REPEATS = 5
MAX_DIFFERENCE = 1e-4
LAYERS = 6


def answers(count: int) -> list[tuple[str, str]]:
    """Return pairs of two answers, and as many pairs of a right answer and its passage."""
    with_passages = [(row["right_answer"], row["knowledge"]) for row in rows(count // 2)]
    return [*pairs(count - count // 2), *with_passages]


def score(answer_pairs: Sequence[tuple[str, str]], encoder: TokenEncoder) -> list[np.ndarray]:
    """Return our precision, recall and F1."""
    import anyio

    from sgi.engine.plan import batches
    from sgi.engine.score import evaluate_batch
    from sgi.io.dataset import open_dataset
    from sgi.kernel.registry import metric

    metrics = [metric(name) for name in ("bertscore_precision", "bertscore_recall", "bertscore")]
    resources = Resources(token_encoders={TokenModel("minilm"): encoder})
    data = open_dataset(
        [{"response": response, "reference": reference} for response, reference in answer_pairs]
    )

    async def evaluate() -> list[dict[str, Any]]:
        return [dict((await evaluate_batch(b, metrics, resources)).scores) for b in batches(data.samples())]

    batch_scores = anyio.run(evaluate)
    return [np.concatenate([scores[m.canonical].values for scores in batch_scores]) for m in metrics]


def measure(*, quick: bool) -> Iterator[Figure]:
    """Yield pairs per second, and the greatest difference of the values."""
    answer_pairs = answers(PAIRS // 5 if quick else PAIRS)
    encoder = load_token_encoder(TokenModel("minilm"))
    turns: dict[str, Callable[[], object]] = {"ours": partial(score, answer_pairs, encoder)}
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(same_weights("encoders"))
            setting = {"folder": str(folder), "layers": LAYERS, "pairs": answer_pairs}
            other = stack.enter_context(peer("encoders", "bert_score_pairs", setting))
            turns["peer"] = other.run
        except (NotInstalledError, PeerError) as error:
            other, note = None, str(error)
        times = time_alternately(turns, repeats=1 if quick else REPEATS)
        if other is not None:
            note = f"bert-score {other.about['version']}, {other.about['threads']} threads, same weights"
            difference = np.abs(np.stack(score(answer_pairs, encoder)) - np.asarray(other.result())).max()
            note = f"{note}; greatest difference {difference:.1e} ({MAX_DIFFERENCE:.0e} allowed)"
    yield Figure(
        f"BERTScore, {len(answer_pairs):,} pairs",
        "pairs/s",
        ours=len(answer_pairs) / times["ours"].median,
        peer=len(answer_pairs) / times["peer"].median if "peer" in times else None,
        beside="bert-score",
        wanted=TARGET,
        note=note,
        repeats=seconds_of(times),
    )


if __name__ == "__main__":
    benchmark_main(measure)
