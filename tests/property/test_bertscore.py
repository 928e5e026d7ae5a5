"""What must hold of BERTScore for any texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.testing import HashTokenEncoder
from sgi.testing.strategies import texts

PRECISION, RECALL, F1 = map(metric, ("bertscore_precision", "bertscore_recall", "bertscore"))
ENCODER = HashTokenEncoder(dimension=16)


def score(chosen, rows):
    batch = Batch.of(
        [
            Sample(id=str(n), response=r, reference=g[0], alternatives=tuple(g[1:]))
            for n, (r, g) in enumerate(rows)
        ]
    )
    table = ENCODER.encode_tokens(list(dict.fromkeys(chosen.token_texts(batch))))
    return chosen.score(batch, Features(token_table=table))


@given(texts(), texts())
def test_precision_one_way_is_recall_the_other(left, right):
    forth, back = score(PRECISION, [(left, [right])]), score(RECALL, [(right, [left])])
    if forth.ok.all() and back.ok.all():
        assert forth.values == pytest.approx(back.values, abs=1e-6)
        assert score(F1, [(left, [right])]).values == pytest.approx(
            score(F1, [(right, [left])]).values, abs=1e-6
        )


@given(texts())
def test_a_text_beside_itself_scores_one(text):
    found = score(F1, [(text, [text])])
    assert found.ok.all() == bool(text.split())
    assert not found.ok.all() or found.values == pytest.approx([1.0], abs=1e-6)


@given(st.lists(st.tuples(texts(), st.lists(texts(), min_size=1, max_size=3)), max_size=6))
def test_values_lie_between_zero_and_one_and_f1_between_the_others(rows):
    found = [score(chosen, rows) for chosen in (PRECISION, RECALL, F1)]
    for scores in found:
        assert ((scores.values[scores.ok] >= 0) & (scores.values[scores.ok] <= 1)).all()
    precision, recall, f1 = (scores.values for scores in found)
    ok = found[2].ok
    assert (f1[ok] <= np.maximum(precision, recall)[ok] + 1e-12).all()


@given(texts(), st.lists(texts(), min_size=2, max_size=4))
def test_a_further_reference_never_makes_it_worse(response, references):
    few, many = score(F1, [(response, references[:-1])]), score(F1, [(response, references)])
    if few.ok.all():
        assert many.values[0] >= few.values[0]
