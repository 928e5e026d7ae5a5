"""The tracked ratios: those which a pull request must not make worse."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from material import FROM_SAMPLE

LIMIT = 0.1
"""A tracked ratio with a limit must not get worse by more than this share."""
MAX_SPREAD = 0.05
"""A ratio with a larger spread between its repeats gets no limit: its changes are mostly noise."""


@dataclass(frozen=True)
class Tracked:
    """A ratio to a peer or a bound.

    Attributes:
        title: Title in the output of `compare_results.py`.
        script: Name of its benchmark.
        work: Regular expression of the names of its work, of today and of older result files.
        beside: Name of the peer or of the bound.
        limited: Whether it has a limit. Benchmarks with a limit need no peers, and take less than a minute.
    """

    title: str
    script: str
    work: str
    beside: str
    limited: bool = True


TRACKED = (
    Tracked("ROUGE-L, short answers", "lexical", r"rouge_l, [\d,]+ answer pairs", "rouge-score"),
    Tracked(
        "ROUGE-L, long answers",
        "lexical",
        r"rouge_l, [\d,]+ long answers (and|beside) their passages",
        "rouge-score",
    ),
    Tracked("BLEU", "lexical", r"bleu, [\d,]+ answer pairs", "sacrebleu"),
    Tracked("sgi.evaluate", "overhead", r"sgi\.evaluate, rouge_l, [\d,]+ rows", "the metric alone"),
    Tracked("Reading JSON Lines", "overhead", r"read [\d,]+ rows of JSON Lines", "orjson alone"),
    Tracked("SGI of vectors", "geometry", r"SGI of .*", "one pass over the memory", limited=False),
    Tracked(
        "Embedder",
        "embedding",
        r"embed 1,000 texts(, default backend .*)?",
        "sentence-transformers f32",
        limited=False,
    ),
    Tracked(
        "sgi run, no vector cached",
        "grounding",
        r"sgi run -m sgi, 2,997 rows, cold",
        "factlens evaluate_batch",
        limited=False,
    ),
    Tracked("BERTScore", "bertscore", r"BERTScore, 300 pairs(, onnx f32)?", "bert-score", limited=False),
)
SCRIPTS = tuple(dict.fromkeys(each.script for each in TRACKED if each.limited))
"""The benchmarks that ``run.py --tracked`` runs."""


def tracked(work: str, beside: str) -> Tracked | None:
    """Return the tracked ratio of a figure; measured with other data, it is another ratio.

    >>> tracked("bleu, 10,000 answer pairs", "sacrebleu").title
    'BLEU'
    >>> tracked("bleu, 10,000 answer pairs of the bundled sample", "sacrebleu").title
    'BLEU of the bundled sample'
    """
    name = work.removesuffix(FROM_SAMPLE)
    for each in TRACKED:
        if each.beside == beside and re.fullmatch(each.work, name):
            return each if name == work else replace(each, title=each.title + FROM_SAMPLE)
    return None
