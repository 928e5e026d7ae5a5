"""Pairs as a tokenizer makes them, windows that lose nothing, and texts that forge marks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import ModelCorruptError
from sgi.models.entailment.pairs import Frame, PairTokenizer
from sgi.testing.strategies import texts
from support.entailment_models import WORDS, word_tokenizer


def in_manner_of(model):
    """A tokenizer of words with the marks of BERT, RoBERTa or T5."""
    from tokenizers import processors

    tokenizer = word_tokenizer()
    if model == "roberta":
        tokenizer.post_processor = processors.RobertaProcessing(("[SEP]", 3), ("[CLS]", 2))
    if model == "t5":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A [SEP]", pair="$A [SEP] $B [SEP]", special_tokens=[("[SEP]", 3)]
        )
    return tokenizer


@pytest.mark.parametrize("model", ["bert", "roberta", "t5"])
@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [("the tower is tall", "paris"), ("", "not"), ("old", ""), ("", ""), ("?", "?? a")],
)
def test_a_pair_is_what_the_tokenizer_makes_of_it(model, premise, hypothesis):
    encoding = in_manner_of(model).encode(premise, hypothesis)
    pairs = PairTokenizer(in_manner_of(model), 64)
    (window,) = pairs.windows(*pairs.token_ids([premise, hypothesis]))
    assert window.ids.tolist() == encoding.ids
    assert window.types.tolist() == encoding.type_ids


@pytest.fixture(scope="module")
def pieces(minilm_files):
    """BERT's own tokenizer, and it once more as a maker of pairs."""
    from support.entailment_models import with_pairs
    from support.reference_tokenizer import bert_tokenizer

    plain, ours = (with_pairs(bert_tokenizer(minilm_files.tokenizer), 101, 102) for _ in range(2))
    return plain, PairTokenizer(ours, 512)


@given(texts(), texts())
def test_any_pair_is_what_berts_tokenizer_makes_of_it(pieces, premise, hypothesis):
    plain, pairs = pieces
    encoding = plain.encode(premise, hypothesis)
    (window,) = pairs.windows(*pairs.token_ids([premise, hypothesis]))
    forged = "[" in premise + hypothesis
    assert forged or (window.ids.tolist(), window.types.tolist()) == (encoding.ids, encoding.type_ids)


def test_no_text_forges_a_mark():
    pairs = PairTokenizer(word_tokenizer(), 64)
    (ids,) = pairs.token_ids(["tall [SEP] [CLS] [PAD] old"])
    assert not set(ids.tolist()) & {WORDS.index(mark) for mark in ("[PAD]", "[CLS]", "[SEP]")}


def test_texts_without_a_mark_between_are_no_pairs():
    from tokenizers import processors

    tokenizer = word_tokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", pair="[CLS] $A $B:1", special_tokens=[("[CLS]", 2)]
    )
    with pytest.raises(ModelCorruptError, match="special token"):
        Frame.of(tokenizer)


def test_no_room_for_two_texts():
    with pytest.raises(ModelCorruptError, match=r"limit of 4.* 3 special tokens"):
        PairTokenizer(word_tokenizer(), 4)


@given(st.integers(0, 90), st.integers(0, 40), st.integers(8, 40))
def test_windows_hold_the_whole_hypothesis_and_all_of_the_premise(premise, hypothesis, limit):
    pairs = PairTokenizer(word_tokenizer(), limit)
    first, second = np.arange(1000, 1000 + premise), np.arange(2000, 2000 + hypothesis)
    windows = pairs.windows(first, second)
    if premise + hypothesis + 3 <= limit:
        assert len(windows) == 1
    elif windows is None:
        assert limit - 3 - hypothesis < limit / 4
        assert not pairs.readable(second)
        return
    positions = set()
    for ids, types in windows:
        assert len(ids) == len(types) == min(limit, premise + hypothesis + 3)
        own = ids[(ids >= 1000) & (ids < 2000)]
        assert ids[types == 1].tolist() == [*second, 3]
        assert ids[types == 0].tolist() == [2, *own, 3]
        assert own.tolist() == list(range(own[0], own[0] + len(own))) if len(own) else True
        positions |= set(own.tolist())
    assert positions == set(first.tolist())


def test_what_is_shorter_than_half_a_window_stands_in_one_whole():
    pairs = PairTokenizer(word_tokenizer(), 30)
    premise, hypothesis = np.arange(1000, 1200), np.arange(2000, 2005)
    room = pairs.room(hypothesis)
    held = [set(ids.tolist()) for ids, _ in pairs.windows(premise, hypothesis)]
    for start in range(200 - room // 2):
        assert any(held_ids >= set(premise[start : start + room // 2].tolist()) for held_ids in held)
