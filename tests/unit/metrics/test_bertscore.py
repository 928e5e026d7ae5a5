"""BERTScore on token vectors made by hand; beside the reference implementation it stands in tests/oracle."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.tokens import TokenFrequencies, TokenModel, TokenTable
from sgi.kernel.vectors import Features
from sgi.metrics.bertscore import BASELINES, NO_TOKENS, NO_WEIGHT, greedy_match
from sgi.testing import HashTokenEncoder


def pair(response, *references):
    return Sample(id="1", response=response, reference=references[0], alternatives=references[1:])


def score(name, *samples, counted=None):
    batch = Batch.of([sample.model_copy(update={"id": str(n)}) for n, sample in enumerate(samples)])
    chosen = metric(name)
    encoder = HashTokenEncoder()
    prepared = chosen.prepare(batch)
    table = encoder.encode_tokens(list(dict.fromkeys(chosen.token_texts(prepared))))
    if counted is not None:
        table = replace(table, frequencies=TokenFrequencies.none().add(encoder.token_ids(counted)))
    return chosen.score(prepared, Features(token_table=table))


def table_of(**texts):
    """A table of texts whose tokens are given by number and direction; 0 is a mark."""
    ids = [np.array([number for number, _ in tokens]) for tokens in texts.values()]
    rows = np.array([row for tokens in texts.values() for _, row in tokens], dtype=np.float32)
    return TokenTable.build("demo", [*texts], ids, rows, special=(0,))


EAST, NORTH, BETWEEN, WEST = (1, 0), (0, 1), (0.6, 0.8), (-1, 0)
TABLE = table_of(
    a=[(0, NORTH), (1, EAST), (2, BETWEEN)], b=[(0, EAST), (3, EAST)], c=[(4, WEST)], d=[(0, EAST)]
)


def test_a_text_of_unknown_letters_has_no_value():
    table = replace(TABLE, unread=frozenset("b"))
    rows = Batch.of([pair("b", "a"), pair("a", "b"), pair("a", "b", "a"), pair(" ", "b"), pair("a", "a")])
    scores = metric("bertscore").score(rows, Features(token_table=table))
    assert scores.ok.tolist() == [False, False, True, False, True]
    assert scores.values[2] == scores.values[4]
    assert [reason.split(" of the ")[-1].split(";")[0] for reason in scores.reasons if reason] == [
        "response",
        "reference",
        "reference",
    ]


def by_hand(name, response, *references, **settings):
    chosen = replace(metric(name), **settings)
    return chosen.score(Batch.of([pair(response, *references)]), Features(token_table=TABLE))


def test_values_by_hand():
    """The tokens of "a" find 1 and 0.6, that of "b" finds 1; a mark may be matched too."""
    assert by_hand("bertscore_precision", "a", "b").values == pytest.approx([0.8])
    assert by_hand("bertscore_recall", "a", "b").values == pytest.approx([1.0])
    scores = by_hand("bertscore", "a", "b")
    assert scores.values == pytest.approx([2 * 0.8 / 1.8])
    assert scores.details[0]["raw"] == pytest.approx({"precision": 0.8, "recall": 1.0, "f1": 2 * 0.8 / 1.8})
    assert by_hand("bertscore_recall", "c", "a").values == pytest.approx([0.0])


def test_negative_cosines_count_as_none():
    assert by_hand("bertscore", "b", "c").values.tolist() == [0.0]


def test_each_part_has_its_own_best_reference():
    detail = by_hand("bertscore_precision", "a", "c", "b").details[0]["raw"]
    assert detail == pytest.approx({"precision": 0.8, "recall": 1.0, "f1": 2 * 0.8 / 1.8})


def test_a_text_without_tokens():
    """A response of marks alone scores 0; references of marks alone say nothing."""
    assert by_hand("bertscore", "d", "a").values.tolist() == [0.0]
    assert by_hand("bertscore", "a", "d").reasons == (NO_TOKENS,)
    assert by_hand("bertscore", "a", "d", "b").ok.all()


@pytest.mark.parametrize("response", ["a", " "])
def test_blank_texts(response):
    scores = score("bertscore", pair(response, " ", "\n"), pair(" ", "x"), pair("x", "", "x"))
    assert scores.status.tolist() == ["undefined", "ok", "ok"]
    assert scores.reasons[0] == "the reference is blank"
    assert scores.values[1:] == pytest.approx([0.0, 1.0], abs=1e-6)


def test_nothing_blank_is_asked_for_and_nothing_in_vain():
    rows = Batch.of([pair("a", " "), pair("", "b"), pair("c", "d", " ", "e")])
    assert [*metric("bertscore").token_texts(rows)] == ["b", "d", "e", "c"]


def test_rescaling_moves_each_part_by_its_own_baseline():
    raw = by_hand("bertscore", "a", "b").details[0]
    baseline = (0.1, 0.2, 0.5)
    for name, part, low in zip(
        ("bertscore_precision", "bertscore_recall", "bertscore"), raw["raw"], baseline, strict=True
    ):
        scores = by_hand(name, "a", "b", rescale=True, baseline=baseline)
        assert scores.values == pytest.approx([(raw["raw"][part] - low) / (1 - low)])
        assert scores.details[0]["raw"] == raw["raw"]
        assert scores.details[0]["rescaled"][part] == pytest.approx(scores.values[0])


def test_what_is_less_alike_than_strangers_is_below_zero():
    scores = by_hand("bertscore", "b", "c", rescale=True, baseline=(0.5, 0.5, 0.5))
    assert scores.values == pytest.approx([-1.0])
    assert metric("bertscore(rescale=true)").spec.low == -np.inf
    assert metric("bertscore").spec.low == 0


def test_the_published_baselines():
    baseline = BASELINES["microsoft/deberta-xlarge-mnli", 40]
    assert [round(value, 4) for value in baseline] == [0.5169, 0.5170, 0.5150]
    assert all(0 < value < 1 for known in BASELINES.values() for value in known)


def test_the_recommended_layer_is_taken_unless_one_is_named():
    name = "torch:microsoft/deberta-xlarge-mnli"
    assert metric(f'bertscore(model="{name}")').token_model == TokenModel(name, 40)
    assert metric(f'bertscore(model="{name}", layer=7)').token_model == TokenModel(name, 7)
    assert metric("bertscore").token_model == TokenModel("minilm")


def test_rare_tokens_weigh_more():
    references = ["the the cat", "the dog", "the end"]
    rows = [pair("the cat", "the cat sat"), pair("the cat", "the dog sat")]
    plain = score("bertscore_recall", *rows).values
    weighed = score("bertscore_recall(idf=true)", *rows, counted=references).values
    assert weighed[1] < plain[1] < plain[0]


def test_tokens_that_weigh_nothing_leave_no_value():
    """The one reference there is holds all its tokens, so all weigh log(2/2)."""
    scores = score("bertscore(idf=true)", pair("a b", "a b"), counted=["a b"])
    assert scores.reasons == (NO_WEIGHT,)
    assert scores.details[0]["raw"] == {"precision": None, "recall": None, "f1": None}
    assert score("bertscore_precision(idf=true)", pair("a c", "a b"), counted=["a b"]).ok.all()


def test_no_rounding_of_weights_lifts_a_value_above_one():
    """Equal texts, whose weights add up to other last digits in another order."""
    draw = np.random.default_rng(5)
    texts = [str(n) for n in range(200)]
    ids = [draw.integers(0, 500, size=n + 3) for n in range(len(texts))]
    rows = np.tile(np.array(EAST, dtype=np.float32), (sum(map(len, ids)), 1))
    table = TokenTable.build("demo", texts, ids, rows, special=())
    counted = replace(table, frequencies=TokenFrequencies.none().add(ids))
    for name in ("bertscore", "bertscore_precision", "bertscore_recall"):
        chosen = replace(metric(name), idf=True)
        rows = Batch.of([pair(text, text) for text in texts])
        scores = chosen.score(rows, Features(token_table=counted)).values
        assert scores.max() <= 1.0
        assert scores == pytest.approx(np.ones(len(texts)), abs=1e-12)


def test_details_tell_of_windows():
    table = replace(TABLE, windows=np.array([4, 1, 1, 1]))
    chosen = metric("bertscore")
    scores = chosen.score(Batch.of([pair("b", "a")]), Features(token_table=table))
    assert scores.details[0]["windows"] == 4
    assert "windows" not in by_hand("bertscore", "b", "a").details[0]


def test_a_model_without_a_known_baseline_says_the_way_out():
    with pytest.raises(UsageError):
        metric('bertscore(model="torch:another", rescale=true)')
    assert metric('bertscore(model="torch:another", rescale=true, baseline=[0, 0, 0])').rescale


def test_long_texts_are_matched_in_bounded_memory():
    rows = np.random.default_rng(0).standard_normal((5000, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    tracemalloc.start()
    forth, back = greedy_match(rows, rows[::-1].copy())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000
    assert forth == pytest.approx(np.ones(5000), abs=1e-5)
    assert back == pytest.approx(np.ones(5000), abs=1e-5)


def test_blocks_change_no_value():
    draw = np.random.default_rng(1)
    left, right = (draw.standard_normal((n, 8)).astype(np.float32) for n in (2100, 1030))
    left, right = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (left, right))
    forth, back = greedy_match(left, right)
    whole = np.clip(left.astype(np.float64) @ right.T.astype(np.float64), 0, 1)
    assert forth == pytest.approx(whole.max(axis=1), abs=1e-6)
    assert back == pytest.approx(whole.max(axis=0), abs=1e-6)


def test_the_documents_name_has_percent_and_zero_for_blanks():
    rows = [pair("a b", "a"), pair("a", " "), pair("", "a"), pair("", "")]
    scores = score("bert_score_f1", *rows)
    plain = score("bertscore", *rows)
    assert scores.ok.all()
    assert scores.values == pytest.approx([100 * plain.values[0], 0, 0, 0])
    assert scores.details[0] == plain.details[0]
    assert metric("bert_score_f1").spec.unit == "%"
