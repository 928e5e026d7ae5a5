import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.entailment_profile import EntailmentProfile
from sgi.kernel.protocols import EntailmentScores
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import EntailmentTable, Features
from sgi.metrics.grounding.analysis import ResponseAnalysis
from sgi.metrics.grounding.detector import Grounding
from sgi.metrics.grounding.nli import (
    Band,
    ResponseEntailment,
    SentenceEntailment,
    entailment_pairs_of,
    first_scores,
)
from sgi.testing import check_metric

PASSAGES = (
    *("Rome is old.", "The old tower in Paris is tall.", "", "Paris has a tower, and it is tall."),
    *("The old tower in Paris is tall.", "A tower.", "Nothing of the kind stands here."),
)
RESPONSE = "The old tower in Paris is tall. The passages do not say who built it. It is not in Rome."
SAMPLE = Sample(id="1", question="How tall?", contexts=PASSAGES, response=RESPONSE)


def scored(samples, entailed, grounding):
    """The scores of rows whose pairs have the entailment and contradiction that a function gives them."""
    rows = grounding.prepare(Batch.of(samples))
    pairs = list(dict.fromkeys(grounding.pairs(rows)))
    follows, against = np.array([entailed(*pair) for pair in pairs], dtype=np.float64).reshape(-1, 2).T
    scores = EntailmentScores(follows, against, np.full(len(pairs), 2))
    return grounding.score(rows, Features(entailment_table=EntailmentTable.of("m", pairs, scores)))


def logit(p):
    return np.log(p / (1 - p))


def test_a_sentence_is_read_behind_its_best_passages_and_a_silent_one_behind_none():
    first, silent, last = entailment_pairs_of(
        ResponseAnalysis.of(RESPONSE, [text for text in PASSAGES if text])
    )
    assert [premise for premise, _ in first] == [PASSAGES[1], PASSAGES[3], PASSAGES[0]]
    assert {hypothesis for _, hypothesis in first} == {"The old tower in Paris is tall."}
    assert silent is None
    assert last[0] == (PASSAGES[0], "It is not in Rome.")


def test_passages_that_tie_come_in_their_order_and_equal_ones_once():
    passages = ["Here.", "There.", "Here.", "Nowhere.", "Elsewhere."]
    ((*pairs,),) = entailment_pairs_of(ResponseAnalysis.of("The moon is made of cheese.", passages))
    assert [premise for premise, _ in pairs] == ["Here.", "There.", "Nowhere."]
    ((*more,),) = entailment_pairs_of(
        ResponseAnalysis.of("The moon is made of cheese.", passages), EntailmentProfile(passages=9)
    )
    assert [premise for premise, _ in more] == ["Here.", "There.", "Nowhere.", "Elsewhere."]


def test_rows_without_response_or_passages_ask_nothing():
    empty = [
        Sample(id="1", contexts=("a",), response=" "),
        Sample(id="2", contexts=("", " "), response="Yes."),
    ]
    assert list(Grounding(nli="m").pairs(Grounding().prepare(Batch.of(empty)))) == []


@pytest.mark.parametrize(
    "name", ["owner/model", '/a folder/it\'s "ours", (x)', "torch:C:\\models\\é", "模型/一"]
)
def test_the_canonical_name_leads_back_whatever_the_path(name):
    grounding = Grounding(nli=name)
    assert metric(grounding.canonical) == grounding
    assert grounding.entailment_model == name
    assert Grounding().canonical == "grounding"


@pytest.mark.parametrize("wrong", [5, None, ("a", "b"), True])
def test_a_model_is_named_by_a_text(wrong):
    with pytest.raises(TypeError, match="nli must be the name of an entailment model"):
        Grounding(nli=wrong)


def test_it_keeps_the_promises_of_a_metric():
    check_metric(Grounding(nli="owner/model"))


def test_half_of_the_least_entailment_is_added():
    of = ResponseEntailment((SentenceEntailment(0.8, None, 1), None, SentenceEntailment(0.3, 0.5, 1)))
    assert of.least == 0.3
    assert of.log_odds == pytest.approx(0.5 * logit(np.array([0.3, 0.8, 0.3])))


def test_the_profile_decides_weight_and_calibration():
    profile = EntailmentProfile(model="m", weight=2, temperature=4, offset=-1)
    of = ResponseEntailment((SentenceEntailment(0.8, None, 1), SentenceEntailment(0.3, 0.5, 1)), profile)
    assert of.log_odds == pytest.approx(2 * (logit(np.array([0.3, 0.8, 0.3])) / 4 - 1))


@pytest.mark.parametrize(("entailment", "odds"), [(0.0, -3.0), (1e-9, -3.0), (0.5, 0.0), (1.0, 3.0)])
def test_log_odds_of_entailment_are_clipped_to_six(entailment, odds):
    of = ResponseEntailment((SentenceEntailment(entailment, None, 1),))
    assert of.log_odds.tolist() == pytest.approx([odds] * 2)


def test_where_no_sentence_claims_anything_nothing_is_added():
    of = ResponseEntailment((None, None))
    assert np.isnan(of.least)
    assert of.log_odds.tolist() == [0.0]


def test_all_else_is_as_without_a_model():
    plain = scored([SAMPLE], lambda *_: (0.5, 0.5), Grounding())
    even = scored([SAMPLE], lambda *_: (0.5, 0.5), Grounding(nli="m"))
    assert even.values == pytest.approx(plain.values, abs=1e-12)
    doubted = scored([SAMPLE], lambda *_: (0.1, 0.0), Grounding(nli="m"))
    part = doubted.details[0]["signals"]["entailment"]
    assert logit(doubted.values) - logit(plain.values) == pytest.approx(part["log_odds"], abs=1e-4)
    assert part["value"] == pytest.approx(0.1)
    others = {name: value for name, value in doubted.details[0]["signals"].items() if name != "entailment"}
    assert others == plain.details[0]["signals"]
    assert "entailment" not in plain.details[0]["signals"]


def test_each_sentence_shows_the_most_over_its_passages():
    said = {PASSAGES[1]: (0.9, 0.02), PASSAGES[3]: (0.4, 0.6), PASSAGES[0]: (0.05, 0.3)}
    rome = {PASSAGES[0]: (0.1, 0.95)}

    def entailed(premise, hypothesis):
        return (rome if "Rome" in hypothesis else said).get(premise, (0.01, 0.0))

    detail = scored([SAMPLE], entailed, Grounding(nli="m")).details[0]
    first, silent, last = detail["sentences"]
    assert (first["entailment"], first["contradiction"], first["entailment_windows"]) == (0.9, 0.6, 2)
    assert (silent["entailment"], silent["contradiction"], silent["entailment_windows"]) == (None, None, 0)
    assert silent["score"] is None
    assert (last["entailment"], last["contradiction"]) == (0.1, 0.95)
    assert detail["signals"]["entailment"]["value"] == 0.1


def test_a_model_that_does_not_tell_contradiction_leaves_it_open():
    detail = scored([SAMPLE], lambda *_: (0.7, np.nan), Grounding(nli="m")).details[0]
    assert [sentence["entailment"] for sentence in detail["sentences"]] == [0.7, None, 0.7]
    assert {sentence["contradiction"] for sentence in detail["sentences"]} == {None}


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted))
def test_less_entailment_never_means_more_support(levels):
    less, more = (
        scored([SAMPLE], lambda *_, level=level: (level, 0.0), Grounding(nli="m")) for level in levels
    )
    assert less.values[0] <= more.values[0]
    for below, above in zip(less.details[0]["sentences"], more.details[0]["sentences"], strict=True):
        assert below["score"] is None or below["score"] <= above["score"]


BANDED = "The old tower in Paris is tall. Rome was sold to Spain. It is not old in Rome."


def test_only_uncertain_sentences_are_read():
    analysis = ResponseAnalysis.of(BANDED, [passage for passage in PASSAGES if passage])
    first = first_scores(analysis)
    low, high = sorted(first)[:2]
    band = Band(low, (low + high) / 2)
    pairs = entailment_pairs_of(analysis, band=band)
    assert [bool(own) for own in pairs] == [band.contains(score) for score in first]
    assert sum(map(bool, pairs)) == 1
    assert [own for own in pairs if own] == [
        own for own, asked in zip(entailment_pairs_of(analysis), pairs, strict=True) if asked
    ]


def test_a_sentence_that_is_not_read_keeps_its_score():
    sample = replace_response(BANDED)
    plain = scored([sample], lambda *_: (0.5, 0.5), Grounding())
    low, high = sorted(first_scores_of(sample))[:2]
    text = f"0.0:{(low + high) / 2:.6f}"  # the sentence with the lowest first score, and no other
    banded = scored([sample], lambda *_: (0.01, 0.9), Grounding(nli="m", nli_band=text))
    before, after = plain.details[0]["sentences"], banded.details[0]["sentences"]
    read = [sentence["entailment"] is not None for sentence in after]
    assert read.count(True) == 1
    for old, new, was_read in zip(before, after, read, strict=True):
        assert (new["score"] < old["score"]) == was_read
        assert new["entailment_pairs"] == (3 if was_read else 0)
    assert banded.values[0] < plain.values[0]


def test_where_no_sentence_is_uncertain_the_score_is_that_of_the_words():
    plain = scored([SAMPLE], lambda *_: (0.5, 0.5), Grounding())
    grounding = Grounding(nli="m", nli_band="0.0:0.0000001")
    assert list(grounding.pairs(grounding.prepare(Batch.of([SAMPLE])))) == []
    banded = scored([SAMPLE], lambda *_: (0.01, 0.9), grounding)
    assert banded.values.tolist() == plain.values.tolist()
    assert banded.details[0]["signals"]["entailment"] == {"value": None, "log_odds": 0.0}


def replace_response(text):
    return SAMPLE.model_copy(update={"response": text})


def first_scores_of(sample):
    return first_scores(ResponseAnalysis.of(sample.response, [text for text in sample.contexts if text]))


SENTENCES = EntailmentProfile(premise="sentences")


def test_the_best_sentences_of_all_passages_are_one_premise():
    far = "It rains here every day of the year. " * 20
    passages = [
        f"{far}The tower in Paris was painted. {far}",
        f"{far}Ada did so in May 1900. {far}",
        "Nothing.",
    ]
    analysis = ResponseAnalysis.of("Ada painted the tower in Paris in May 1900. Zebras graze.", passages)
    first, second = entailment_pairs_of(analysis, SENTENCES)
    ((premise, statement),) = first
    assert statement == "Ada painted the tower in Paris in May 1900."
    assert "The tower in Paris was painted. It rains" in premise
    assert "Ada did so in May 1900." in premise
    assert premise.index("The tower") < premise.index("Ada did")
    assert len(premise) < len(passages[0]) / 2
    assert all(part.endswith(".") for part in premise.split(" It "))
    assert second == ((passages[0], "Zebras graze."),)
