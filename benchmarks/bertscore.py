"""BERTScore beside the package bert-score: the same weights, the same pairs, by turns.

    python benchmarks/bertscore.py [--quick]

Both have the same weights, the embedded model's, and both take all cores. Ours is a run of the engine without
store: planning, tokenizing, vectors without a cache, matching, accounting.
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
from sgi.kernel.errors import SgiError
from sgi.kernel.tokens import TokenModel
from sgi.models.token_encoder.load import load_token_encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import TokenEncoder

PAIRS = 300
WANTED = 3.0
TURNS = 5
CLOSE = 1e-4
LAYERS = 6
BACKENDS = {"onnx f32": ("onnx", "f32"), "openvino f32": ("openvino", "f32")}


def answers(count: int) -> list[tuple[str, str]]:
    """Answers beside the right ones, and right ones beside their passages, in equal parts."""
    long = [(row["right_answer"], row["knowledge"]) for row in rows(count // 2)]
    return [*pairs(count - count // 2), *long]


def encoders() -> Iterator[tuple[str, TokenEncoder]]:
    """Ours, as far as their runtimes are installed."""
    for name, (backend, precision) in BACKENDS.items():
        try:
            encoder = load_token_encoder(TokenModel("minilm"), backend=backend, precision=precision)
            encoder.encode_tokens(["warm"])
        except SgiError:
            continue
        yield name, encoder


def scored(found: Sequence[tuple[str, str]], encoder: TokenEncoder) -> list[np.ndarray]:
    """Precision, recall and F1 of ours."""
    import anyio

    from sgi.engine.plan import batches
    from sgi.engine.score import evaluate_batch
    from sgi.io.dataset import open_dataset
    from sgi.kernel.registry import metric

    wanted = [metric(name) for name in ("bertscore_precision", "bertscore_recall", "bertscore")]
    resources = Resources(token_encoders={TokenModel("minilm"): encoder})
    data = open_dataset([{"response": given, "reference": reference} for given, reference in found])

    async def all_of_it() -> list[dict[str, Any]]:
        return [dict((await evaluate_batch(b, wanted, resources)).scores) for b in batches(data.samples())]

    made = anyio.run(all_of_it)
    return [np.concatenate([scores[m.canonical].values for scores in made]) for m in wanted]


def measure(*, quick: bool) -> Iterator[Figure]:
    """Pairs a second, and how far the values lie apart."""
    found = answers(PAIRS // 5 if quick else PAIRS)
    opened = dict(encoders())
    turns: dict[str, Callable[[], object]] = {
        name: partial(scored, found, encoder) for name, encoder in opened.items()
    }
    theirs, note = None, ""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(same_weights("encoders"))
            setting = {"folder": str(folder), "layers": LAYERS, "pairs": found}
            other = stack.enter_context(peer("encoders", "bert_score_pairs", setting))
            turns["peer"] = other.run
        except (NotInstalledError, PeerError) as error:
            other, note = None, str(error)
        times = time_alternately(turns, repeats=1 if quick else TURNS)
        if other is not None:
            theirs = np.asarray(other.result())
            note = f"bert-score {other.about['version']}, {other.about['threads']} threads, same weights"
    for name, encoder in opened.items():
        apart = "" if theirs is None else told_apart(np.stack(scored(found, encoder)), theirs)
        yield Figure(
            f"BERTScore, {len(found):,} pairs, {name}",
            "pairs/s",
            ours=len(found) / times[name].median,
            peer=len(found) / times["peer"].median if "peer" in times else None,
            beside="bert-score",
            wanted=WANTED,
            note=f"{note}{apart}",
            repeats=seconds_of({key: times[key] for key in (name, "peer") if key in times}),
        )


def told_apart(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> str:
    """How far precision, recall and F1 lie apart at most."""
    return f"; apart by {np.abs(ours - theirs).max():.1e} at most ({CLOSE:.0e} allowed)"


if __name__ == "__main__":
    benchmark_main(measure)
