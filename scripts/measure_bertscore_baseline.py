"""Measures what unrelated texts score under BERTScore, from which rescaled values count.

Sentences of HaluEval's passages and answers are drawn as pairs that belong to no common row, in the manner of
Zhang et al. (2020), section 5; the means of precision, recall and F1 go into src/sgi/metrics/bertscore.py.

    python scripts/measure_bertscore_baseline.py DATA_FOLDER [MODEL [LAYER]]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import sgi
from sgi.metrics.bertscore import BertScore, BertScorePrecision, BertScoreRecall
from sgi.text.sentences import sentences as sentences_of

PAIRS = 10_000
SENTENCES = 4_000
SEED = 0


def sentences(folder: Path) -> list[tuple[int, str]]:
    """Distinct sentences, each with the row it comes from."""
    found: dict[str, int] = {}
    with (folder / "halueval_qa.jsonl").open(encoding="utf-8") as lines:
        for row, line in enumerate(lines):
            item = json.loads(line)
            for text in (*sentences_of(item["knowledge"]), item["right_answer"]):
                found.setdefault(text, row)
    return [(row, text) for text, row in found.items()]


def pairs(found: list[tuple[int, str]]) -> list[dict[str, str]]:
    """Pairs of sentences of different rows."""
    draw = np.random.default_rng(SEED)
    kept = [found[place] for place in draw.choice(len(found), SENTENCES, replace=False).tolist()]
    drawn = draw.integers(SENTENCES, size=(2 * PAIRS, 2)).tolist()
    apart = ((kept[left], kept[right]) for left, right in drawn if kept[left][0] != kept[right][0])
    rows = [{"response": left[1], "reference": right[1]} for left, right in apart]
    return rows[:PAIRS]


def main() -> None:
    """Print the three means, with their standard errors."""
    folder, *model = sys.argv[1:]
    named = {"model": model[0]} if model else {}
    layer = {"layer": int(model[1])} if model[1:] else {}
    metrics = [kind(**named, **layer) for kind in (BertScorePrecision, BertScoreRecall, BertScore)]
    rows = pairs(sentences(Path(folder)))
    result = sgi.evaluate(rows, metrics)
    print(result.signature)
    for metric in metrics:
        values = result[metric.canonical].values
        error = values.std(ddof=1) / len(values) ** 0.5
        print(f"{metric.spec.name}: {values.mean():.7f} (standard error {error:.1e}, {len(values):,} pairs)")


if __name__ == "__main__":
    main()
