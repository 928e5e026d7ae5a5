from __future__ import annotations

import numpy as np

from sgi.kernel.features import Features
from sgi.kernel.sample import Batch, Sample
from sgi.metrics.lexical import RougeL, RougeLRecall
from sgi.metrics.references import best_reference, not_blank, pairs_of
from sgi.text.token_columns import TokenColumn
from sgi.text.tokenizers import rouge_words


def rows(*pairs: tuple[str, list[str]]) -> Batch:
    return Batch.of([Sample(id=str(i), response=r, reference=g) for i, (r, g) in enumerate(pairs)])


def test_the_best_comparison_of_each_row_is_kept() -> None:
    batch = rows(("a b", ["a", "a b c", ""]), ("a", ["a b c d"]))
    numbers, comparable = np.array([0.5, 2 / 3, 0.9, 0.25]), np.array([True, True, False, True])
    assert best_reference(batch, numbers, comparable=comparable).values.tolist() == [2 / 3, 0.25]


def test_a_blank_reference_and_an_empty_one_have_their_own_reasons() -> None:
    batch = rows(("a", [" ", ""]), ("a", ["?", " "]), ("", ["?"]), ("a", ["a", ""]))
    comparable = np.array([False] * 5 + [True, False])
    scores = best_reference(batch, comparable.astype(float), comparable=comparable, empty="nothing left")
    assert scores.reasons == ("the reference is blank", "nothing left", "nothing left", "")
    assert not_blank(batch).tolist() == [False, False, True, False, True, True, False]


def test_the_pairs_are_every_reference_beside_its_response() -> None:
    pairs = pairs_of(rows(("a b", ["b", "a b"]), ("c", ["c d"])), rouge_words)
    assert pairs.in_order.precision.tolist() == [0.5, 1.0, 1.0]
    assert pairs.in_bags.recall.tolist() == [1.0, 1.0, 0.5]
    assert pairs.have_tokens.tolist() == [True, True, True]


def test_metrics_of_one_batch_share_its_tokens(monkeypatch) -> None:
    tokenized = []
    tokenize = TokenColumn.of
    monkeypatch.setattr(
        TokenColumn, "of", lambda texts, words: tokenized.append(texts) or tokenize(texts, words)
    )
    batch = rows(("a b", ["b"]))
    for made in (RougeL(), RougeLRecall()):
        made.score(batch, Features())
    assert tokenized == [("a b", "b")]
