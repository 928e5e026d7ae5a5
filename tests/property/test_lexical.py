import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.registry import BUILT_IN, metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.metrics.references import UNREAD_RESPONSE

NAMES = [name for name, place in BUILT_IN.items() if place.startswith("sgi.metrics.lexical:")]
VARIANTS = [*NAMES, 'rouge_l(beta=2.5, tokenizer="unicode")', 'rouge_l_recall(tokenizer="unicode")']
SYMMETRIC = ["rouge_l", 'rouge_l(tokenizer="unicode")', "squad_em", "squad_token_f1", "content_f1"]
WORDS = st.sampled_from(
    [
        *("the", "Paris", "paris.", "a", "42", "capital", "été", "東京", "ที่", "שלום", "🙂", "\x00"),
        *("\u202e", "&amp;", "İ", "-"),
    ]
)
TEXTS = st.lists(WORDS, max_size=10).map(" ".join) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=40
)
WORDED = st.builds("{} {}".format, TEXTS, st.sampled_from(["Paris", "capital"]))
"""Texts that every metric finds a token in."""
REFERENCES = st.lists(TEXTS, min_size=1, max_size=3)
ROWS = st.lists(st.tuples(TEXTS, REFERENCES), max_size=6)


def scored(name: str, rows: list[tuple[str, list[str]]]):
    samples = [Sample(id=str(i), response=r, reference=g) for i, (r, g) in enumerate(rows)]
    return metric(name).score(Batch.of(samples), Features())


@pytest.mark.parametrize("name", VARIANTS)
@given(rows=ROWS)
def test_values_are_bounded_and_every_row_is_accounted_for(
    name: str, rows: list[tuple[str, list[str]]]
) -> None:
    scores = scored(name, rows)
    assert len(scores) == len(rows)
    assert np.all((scores.values[scores.ok] >= 0) & (scores.values[scores.ok] <= 1))
    assert all(bool(reason) != ok for reason, ok in zip(scores.reasons, scores.ok, strict=True))
    assert set(scores.status) <= {"ok", "undefined"}


@pytest.mark.parametrize("name", VARIANTS)
@given(text=WORDED)
def test_a_text_is_its_own_best_answer(name: str, text: str) -> None:
    scores = scored(name, [(text, [text])])
    assert scores.reasons[0] == UNREAD_RESPONSE or scores.values[0] == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("name", VARIANTS)
@given(rows=ROWS, turn=st.randoms(use_true_random=False))
def test_rows_and_references_may_come_in_any_order(
    name: str, rows: list[tuple[str, list[str]]], turn
) -> None:
    order = list(range(len(rows)))
    turn.shuffle(order)
    straight = scored(name, rows)
    shuffled = scored(name, [(rows[i][0], rows[i][1][::-1]) for i in order])
    np.testing.assert_array_equal(shuffled.values, straight.values[order])
    assert list(shuffled.reasons) == [straight.reasons[i] for i in order]


@pytest.mark.parametrize("name", SYMMETRIC)
@given(first=WORDED, second=WORDED)
def test_where_precision_and_recall_weigh_alike_sides_may_be_swapped(
    name: str, first: str, second: str
) -> None:
    there, back = scored(name, [(first, [second])]), scored(name, [(second, [first])])
    assert there.values[0] == pytest.approx(back.values[0], abs=1e-15, nan_ok=True)


@given(response=WORDED, reference=WORDED)
def test_precision_one_way_is_recall_the_other(response: str, reference: str) -> None:
    precision = scored("rouge_l_precision", [(response, [reference])])
    recall = scored("rouge_l_recall", [(reference, [response])])
    np.testing.assert_array_equal(precision.values, recall.values)


@pytest.mark.parametrize("name", NAMES)
@given(response=TEXTS, reference=WORDED, more=REFERENCES)
def test_further_references_never_lower_a_score(
    name: str, response: str, reference: str, more: list[str]
) -> None:
    fewer = scored(name, [(response, [reference])])
    further = scored(name, [(response, [reference, *more])])
    assert further.values[0] >= fewer.values[0] or not fewer.ok[0]
