"""What a configuration says of a classifier's outputs, and what becomes of them."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import UsageError
from sgi.models.entailment.entailment_labels import LabelMap

SPELLINGS = [
    ("entailment", "neutral", "contradiction"),
    ("ENTAILMENT", "NEUTRAL", "CONTRADICTION"),
    ("Entailed", " neutral ", "contradict"),
    ("SUPPORTS", "NOT ENOUGH INFO", "REFUTES"),
    ("aligned", "neutral", "contradict"),
]


def by_place(*names):
    return {"id2label": {str(place): name for place, name in enumerate(names)}}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_three_in_any_order_and_spelling(spelling, order):
    labels = LabelMap.read(by_place(*(spelling[place] for place in order)), "nli")
    assert labels == LabelMap(3, order.index(0), order.index(2))


@pytest.mark.parametrize(
    ("names", "entailment", "contradiction"),
    [
        (("entailment", "not_entailment"), 0, None),
        (("hallucinated", "consistent"), 1, None),
        (("Not Supported", "Supported"), 1, None),
        (("entailment", "neutral"), 0, None),
        (("contradiction", "entailment"), 1, 0),
    ],
)
def test_two(names, entailment, contradiction):
    assert LabelMap.read(by_place(*names), "two") == LabelMap(2, entailment, contradiction)


@pytest.mark.parametrize(
    ("names", "inverted"),
    [
        (("LABEL_0",), False),
        (("0",), False),
        (("label-0",), False),
        (("supported",), False),
        (("hallucinated",), True),
    ],
)
def test_a_single_output_is_a_logit(names, inverted):
    assert LabelMap.read(by_place(*names), "one") == LabelMap(1, 0, sigmoid=True, inverted=inverted)


@pytest.mark.parametrize(
    "more",
    [
        {"problem_type": "multi_label_classification"},
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}},
        {"sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"},
        {"activation_fn": "torch.nn.modules.activation.Sigmoid"},
    ],
)
def test_outputs_each_on_its_own(more):
    assert LabelMap.read(by_place(*SPELLINGS[0]) | more, "each") == LabelMap(3, 0, 2, sigmoid=True)


@pytest.mark.parametrize(
    "more",
    [
        {"problem_type": "regression"},
        {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"},
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
    ],
)
def test_a_score_of_its_own_scale_is_no_probability(more):
    with pytest.raises(UsageError, match=r"ranker.*regression") as caught:
        LabelMap.read(by_place("LABEL_0") | more, "ranker")
    assert "ranker(labels=entailment)" in str(caught.value)
    assert LabelMap.read(by_place("LABEL_0") | more, "ranker", ("entailment",)).sigmoid
    assert not LabelMap.read(by_place(*SPELLINGS[0]) | more, "nli").sigmoid


def test_names_by_word_where_those_by_place_say_nothing():
    by_word = {"label2id": {"contradiction": 0, "entailment": 1, "neutral": 2}}
    expected = LabelMap(3, 1, 0)
    assert LabelMap.read(by_word, "nli") == expected
    assert LabelMap.read(by_word | by_place("LABEL_0", "LABEL_1", "LABEL_2"), "nli") == expected
    assert (
        LabelMap.read(by_place("contradiction", "entailment", "neutral") | {"label2id": {}}, "nli")
        == expected
    )


def test_names_that_contradict_each_other_are_told():
    with pytest.raises(UsageError, match=r"nli.*'entailment'.*'neutral'"):
        LabelMap.read(
            by_place(*SPELLINGS[0]) | {"label2id": {"neutral": 0, "entailment": 1, "contradiction": 2}}, "nli"
        )


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (by_place("LABEL_0", "LABEL_1", "LABEL_2"), "'LABEL_0', 'LABEL_1', 'LABEL_2'.* id2label"),
        ({}, "id2label, label2id and num_labels"),
        ({"id2label": {"x": "entailment", "y": "neutral"}}, "from id2label"),
        ({"id2label": {"0": "entailment", "2": "not_entailment"}}, "from id2label"),
        (by_place("positive", "negative"), "'positive'"),
        (by_place("矛盾"), "'矛盾'"),
        (by_place("矛盾 entailment"), "'矛盾 entailment'"),
        (by_place("entailment", "entailment"), "'entailment', 'entailment'"),
        (by_place("entailment", "contradiction", "refutes"), "'refutes'"),
    ],
)
def test_what_does_not_tell_is_told_with_the_way_out(configuration, words):
    with pytest.raises(UsageError, match=words) as caught:
        LabelMap.read(configuration, "some/model")
    assert "labels=(" in caught.value.hint
    assert "some/model(labels=" in caught.value.hint


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (("entailment", "neutral"), "3 outputs.* 2 names"),
        (("yes", "no", "perhaps"), "'yes', 'no', 'perhaps'"),
        ((), "3 outputs.* 0 names"),
    ],
)
def test_labels_that_do_not_fit(labels, words):
    with pytest.raises(UsageError, match=words):
        LabelMap.read(by_place("LABEL_0", "LABEL_1", "LABEL_2"), "nli", labels)


@pytest.mark.parametrize("label", ["", " ", "LABEL_0", "0"])
def test_a_label_given_by_hand_has_to_say_something(label):
    for names in (("entailment", label), (label,)):
        with pytest.raises(UsageError, match="`labels`"):
            LabelMap.read({"num_labels": len(names), "problem_type": "regression"}, "one", names)


LOGITS = st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=3, max_size=3)


@given(st.lists(LOGITS, max_size=5))
def test_finite_logits_give_probabilities(rows):
    logits = np.array(rows, dtype=np.float32).reshape(-1, 3)
    for sigmoid in (False, True):
        follows, against = LabelMap(3, 2, 0, sigmoid=sigmoid).probabilities(logits)
        for column in (follows, against):
            assert column.shape == (len(rows),)
            assert ((column >= 0) & (column <= 1)).all()
        assert sigmoid or (follows + against <= 1 + 1e-12).all()


def test_probabilities_are_softmax_and_sigmoid():
    from scipy.special import expit, softmax

    logits = np.random.default_rng(1).normal(0, 6, (50, 3)).astype(np.float32)
    follows, against = LabelMap(3, 1, 2).probabilities(logits)
    wide = logits.astype(np.float64)
    assert follows == pytest.approx(softmax(wide, axis=1)[:, 1], abs=1e-15)
    assert against == pytest.approx(softmax(wide, axis=1)[:, 2], abs=1e-15)
    single = LabelMap(1, 0, sigmoid=True, inverted=True).probabilities(logits[:, :1])
    assert single[0] == pytest.approx(1 - expit(wide[:, 0]), abs=1e-15)
    assert np.isnan(single[1]).all()


def test_the_code_tells_maps_apart():
    maps = [LabelMap(3, 2, 0), LabelMap(3, 0, 2), LabelMap(2, 0), LabelMap(3, 2, 0, sigmoid=True)]
    maps += [LabelMap(1, 0, sigmoid=True), LabelMap(1, 0, sigmoid=True, inverted=True)]
    assert len({label_map.code for label_map in maps}) == len(maps)
