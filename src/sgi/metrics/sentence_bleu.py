"""BLEU of single responses, from the n-grams that they share with their references."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.metrics.references import Pairs

_ORDERS = 4
"""The longest n-gram that BLEU counts."""


def sentence_bleu(pairs: Pairs) -> NDArray[np.float64]:
    """Return the BLEU of each response with each of its references, in [0, 1], exactly as sacrebleu."""
    tokens = grams = pairs.tokens
    common, total = [], []
    for order in range(_ORDERS):
        grams = grams.longer(tokens) if order else tokens
        common.append(grams.common(pairs.responses, pairs.references))
        total.append(grams.lengths[pairs.responses])
    counts = zip(np.transpose(common).tolist(), np.transpose(total).tolist(), strict=True)
    lengths = zip(total[0].tolist(), tokens.lengths[pairs.references].tolist(), strict=True)
    rows = (_bleu_of(*count, *length) for count, length in zip(counts, lengths, strict=True))
    return np.fromiter(rows, np.float64, len(pairs.references))


def _bleu_of(common: Sequence[int], total: Sequence[int], response: int, reference: int) -> float:
    """Return the BLEU of one pair from the n-gram counts of each order and the lengths in tokens."""
    if not any(common):
        return 0.0
    smoothing, logs = 1.0, []
    for hits, count in zip(common, total, strict=True):
        if not count:
            break
        if not hits:
            smoothing *= 2
        precision = 100.0 * hits / count if hits else 100.0 / (smoothing * count)
        logs.append(math.log(precision))
    brevity = math.exp(1 - reference / response) if response < reference else 1.0
    return min(1.0, brevity * math.exp(sum(logs) / len(logs)) / 100)
