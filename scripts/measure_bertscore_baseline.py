"""Measure the BERTScore of unrelated texts, which is the baseline of rescaled values.

The script draws pairs of sentences from different rows of HaluEval (Zhang et al. 2020, section 5). The means
of precision, recall and F1 go into src/sgi/metrics/bertscore.py.

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
    """Return distinct sentences with their row."""
    row_of: dict[str, int] = {}
    with (folder / "halueval_qa.jsonl").open(encoding="utf-8") as lines:
        for row, line in enumerate(lines):
            item = json.loads(line)
            for text in (*sentences_of(item["knowledge"]), item["right_answer"]):
                row_of.setdefault(text, row)
    return [(row, text) for text, row in row_of.items()]


def pairs(row_sentences: list[tuple[int, str]]) -> list[dict[str, str]]:
    """Draw pairs of sentences from different rows."""
    rng = np.random.default_rng(SEED)
    sample = [
        row_sentences[index] for index in rng.choice(len(row_sentences), SENTENCES, replace=False).tolist()
    ]
    indices = rng.integers(SENTENCES, size=(2 * PAIRS, 2)).tolist()
    candidates = ((sample[left], sample[right]) for left, right in indices)
    rows = [{"response": left[1], "reference": right[1]} for left, right in candidates if left[0] != right[0]]
    return rows[:PAIRS]


def main() -> None:
    """Print the three means with their standard errors."""
    folder, *model = sys.argv[1:]
    options = {"model": model[0]} if model else {}
    layer = {"layer": int(model[1])} if model[1:] else {}
    metrics = [kind(**options, **layer) for kind in (BertScorePrecision, BertScoreRecall, BertScore)]
    rows = pairs(sentences(Path(folder)))
    result = sgi.evaluate(rows, metrics)
    print(result.signature)
    for metric in metrics:
        values = result[metric.canonical].values
        error = values.std(ddof=1) / len(values) ** 0.5
        print(f"{metric.spec.name}: {values.mean():.7f} (standard error {error:.1e}, {len(values):,} pairs)")


if __name__ == "__main__":
    main()
