import numpy as np
import pytest

from sgi.geometry import angle, compute_sgi, unit
from sgi.geometry.passages import VERBATIM_ANGLE
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features, VectorTable
from sgi.metrics.complete_rows import SEPARATOR
from sgi.metrics.sgi import (
    VERBATIM_COPY,
    BoundedGroundingIndex,
    QuestionContextAngle,
    ResponseContextAngle,
    ResponseQuestionAngle,
    SemanticGroundingIndex,
)
from sgi.testing import HashEmbedder

ALL = [
    SemanticGroundingIndex(),
    SemanticGroundingIndex(passages="mean"),
    SemanticGroundingIndex(passages="joined"),
    BoundedGroundingIndex(),
    ResponseQuestionAngle(),
    ResponseContextAngle(),
    ResponseContextAngle(passages="mean"),
    QuestionContextAngle(),
]


def sample(question="q", contexts=("c",), response="r"):
    return Sample(id="1", question=question, contexts=contexts, response=response)


def score(one, *samples, vectors=None, unread=()):
    """Scores, from the given vectors or from hashes, with a table of just the texts asked for."""
    prepared = one.prepare(Batch.of(samples))
    texts = list(dict.fromkeys(one.texts(prepared)))
    if vectors is None:
        rows = HashEmbedder().embed(texts)
    else:
        rows = unit([vectors[text] for text in texts]).astype(np.float32)
    return one.score(prepared, Features.of(VectorTable.of("test", texts, rows, unread=unread)))


def texts_of(one, row):
    return list(one.texts(one.prepare(Batch.of([row]))))


def at(turn):
    return [np.cos(turn), np.sin(turn)]


def test_one_passage_is_the_published_formula():
    rows = [sample(f"q{n}", (f"c{n}",), f"r{n}") for n in range(20)]
    scores = score(SemanticGroundingIndex(), *rows)
    embed = HashEmbedder().embed
    for value, detail, row in zip(scores.values, scores.details, rows, strict=True):
        expected = compute_sgi(*embed([row.question, *row.contexts, row.response]))
        assert value == pytest.approx(expected.sgi, rel=1e-6)
        assert detail["theta_rq"] == pytest.approx(expected.theta_rq, rel=1e-6)
        assert detail["theta_rc"] == pytest.approx(expected.theta_rc, rel=1e-6)


def test_values_by_hand():
    vectors = {"q": at(0.0), "c": at(1.2), "r": at(0.9)}
    values = [
        score(one, sample(), vectors=vectors).values[0]
        for one in (
            SemanticGroundingIndex(),
            BoundedGroundingIndex(),
            ResponseQuestionAngle(),
            ResponseContextAngle(),
            QuestionContextAngle(),
        )
    ]
    assert values == pytest.approx([3.0, 0.5, 0.9, 0.3, 1.2], rel=1e-5)


THREE = {"q": at(0.0), "near": at(1.0), "far": at(-1.5), "mid": at(2.0), "r": at(0.8)}


def test_max_takes_the_passage_nearest_the_response():
    row = sample(contexts=("far", "near", "mid"))
    scores = score(SemanticGroundingIndex(), row, vectors=THREE)
    detail = scores.details[0]
    assert scores.values[0] == pytest.approx(0.8 / 0.2, rel=1e-5)
    assert detail["passage"] == 1
    assert detail["passages"] == pytest.approx([0.8 / 2.3, 0.8 / 0.2, 0.8 / 1.2], rel=1e-5)
    assert (detail["theta_rc"], detail["theta_qc"]) == pytest.approx((0.2, 1.0), rel=1e-5)
    assert scores.values[0] == max(detail["passages"])
    bounded = score(BoundedGroundingIndex(), row, vectors=THREE)
    assert bounded.values[0] == pytest.approx((0.8 - 0.2) / 1.0, rel=1e-5)
    assert bounded.details[0]["passage"] == 1


def test_mean_is_over_the_passages():
    row = sample(contexts=("far", "near", "mid"))
    scores = score(SemanticGroundingIndex(passages="mean"), row, vectors=THREE)
    assert scores.values[0] == pytest.approx(np.mean([0.8 / 2.3, 0.8 / 0.2, 0.8 / 1.2]), rel=1e-5)
    assert scores.details[0]["passage"] is None
    for one, mean in ((ResponseContextAngle("mean"), 3.7 / 3), (QuestionContextAngle("mean"), 4.5 / 3)):
        assert score(one, row, vectors=THREE).values[0] == pytest.approx(mean, rel=1e-5)


def test_joined_is_one_text_without_the_blank_passages():
    row = sample(contexts=("far", " ", "near"))
    one = SemanticGroundingIndex(passages="joined")
    assert texts_of(one, row) == ["q", f"far{SEPARATOR}near", "r"]
    scores = score(one, row, vectors=THREE | {"far\n\nnear": at(1.3)})
    assert scores.values[0] == pytest.approx(0.8 / 0.5, rel=1e-5)
    assert scores.details[0]["passage"] is None
    assert scores.details[0]["passages"] is None


def test_blank_passages_are_skipped_and_keep_their_place():
    row = sample(contexts=("", "far", " \n", "near"))
    scores = score(SemanticGroundingIndex(), row, vectors=THREE)
    first, second, third, fourth = scores.details[0]["passages"]
    assert first is None
    assert third is None
    assert (second, fourth) == pytest.approx((0.8 / 2.3, 4.0), rel=1e-5)
    assert scores.details[0]["passage"] == 3
    assert {"", " \n"}.isdisjoint(texts_of(SemanticGroundingIndex(), row))


REASONS = [
    (sample(question=" "), "the question is blank"),
    (sample(response="\n"), "the response is blank"),
    (sample(contexts=()), "there are no passages"),
    (sample(contexts=("", "\t")), "all passages are blank"),
    (sample(contexts=("q",)), "every passage equals the question (θ(q,c) < 0.001 rad)"),
    (sample(contexts=("q", "", "q")), "every passage equals the question (θ(q,c) < 0.001 rad)"),
    (sample("q", ("q",), "q"), "every passage equals the question (θ(q,c) < 0.001 rad)"),
]


@pytest.mark.parametrize(("row", "reason"), REASONS)
@pytest.mark.parametrize(
    "one", [SemanticGroundingIndex(), SemanticGroundingIndex("mean"), BoundedGroundingIndex()]
)
def test_rows_without_value_say_why(one, row, reason):
    scores = score(one, sample("other", ("text",), "here"), row, sample())
    assert scores.status.tolist() == ["ok", "undefined", "ok"]
    assert scores.reasons == ("", reason, "")


@pytest.mark.parametrize(("row", "reason"), REASONS[:4])
def test_rows_without_value_ask_for_no_vector(row, reason):
    for one in ALL[:4]:
        assert texts_of(one, row) == [], reason


def test_joined_of_questions_alone_is_another_text():
    assert score(SemanticGroundingIndex("joined"), sample(contexts=("q",))).status[0] == "undefined"
    assert score(SemanticGroundingIndex("joined"), sample(contexts=("q", "q"))).status[0] == "ok"


def test_a_passage_that_is_the_question_has_no_value_but_others_do():
    vectors = THREE | {"r": at(0.1)}
    row = sample(contexts=("q", "near", "far"))
    scores = score(SemanticGroundingIndex(), row, vectors=vectors)
    assert scores.values[0] == pytest.approx(0.1 / 0.9, rel=1e-5)
    assert scores.details[0]["passages"][0] is None
    assert scores.details[0]["passage"] == 1
    mean = score(SemanticGroundingIndex("mean"), row, vectors=vectors)
    assert mean.values[0] == pytest.approx((0.1 / 0.9 + 0.1 / 1.6) / 2, rel=1e-5)


def test_angles_have_a_value_even_where_the_question_is_the_only_passage():
    row = sample(contexts=("q",))
    assert score(QuestionContextAngle(), row).values.tolist() == [0.0]
    assert score(ResponseContextAngle(), row).values == score(ResponseQuestionAngle(), row).values


def test_angles_are_the_very_ones_in_the_details_of_sgi():
    rows = [sample(f"q{n}", tuple(f"c{n}{k}" for k in range(1 + n % 4)), f"r{n}") for n in range(12)]
    for passages in ("max", "mean", "joined"):
        details = score(SemanticGroundingIndex(passages), *rows).details
        for one in (ResponseContextAngle(passages), QuestionContextAngle(passages)):
            assert score(one, *rows).values.tolist() == [detail[one.spec.name] for detail in details]
    assert score(ResponseQuestionAngle(), *rows).values.tolist() == [detail["theta_rq"] for detail in details]


@pytest.mark.parametrize("passages", ["max", "mean", "joined"])
def test_a_verbatim_copy_counts_with_an_angle_of_a_hundredth_and_says_so(passages):
    scores = score(SemanticGroundingIndex(passages=passages), sample(response="c"), sample(response="other"))
    capped = angle(*HashEmbedder().embed(["q", "c"])[:, None])[0] / (VERBATIM_ANGLE + 1e-8)
    assert scores.values[0] == capped < 315
    assert scores.details[0]["theta_rc"] == 0.0
    assert scores.details[0][VERBATIM_COPY] is True
    assert VERBATIM_COPY not in scores.details[1]


def test_passages_and_sentences_are_capped_too():
    scores = score(SemanticGroundingIndex(), sample(contexts=("a", "First."), response="First. Second."))
    assert max(part["sgi"] for part in scores.details[0]["sentences"]) < 315
    equal = score(SemanticGroundingIndex(), sample(contexts=("a", "b"), response="b")).details[0]
    assert equal["passages"][1] < 315


def test_ends_of_the_bounded_index():
    assert score(BoundedGroundingIndex(), sample(response="c")).values.tolist() == [1.0]
    assert score(BoundedGroundingIndex(), sample(response="q")).values.tolist() == [-1.0]
    assert score(SemanticGroundingIndex(), sample(response="q")).values.tolist() == [0.0]


TWO = "The first is here. The second is there."


@pytest.mark.parametrize("passages", ["max", "mean", "joined"])
def test_sentences_have_the_value_they_would_have_alone(passages):
    one = SemanticGroundingIndex(passages)
    contexts = ("c1", "", "c2", "c3")
    scores = score(one, sample("q1", ("x",), "single"), sample(contexts=contexts, response=TWO))
    texts = ["The first is here.", "The second is there."]
    alone = score(one, *(sample(contexts=contexts, response=text) for text in texts))
    expected = [
        {"text": text, "sgi": value} for text, value in zip(texts, alone.values.tolist(), strict=True)
    ]
    assert scores.details[1]["sentences"] == expected


def test_a_single_sentence_costs_no_further_text():
    row = sample(response=" Only one. ")
    one = SemanticGroundingIndex()
    assert texts_of(one, row) == ["q", "c", " Only one. "]
    scores = score(one, row)
    assert scores.details[0]["sentences"] == [{"text": "Only one.", "sgi": scores.values[0]}]


def test_sentences_can_be_left_out():
    row = sample(response=TWO)
    one = SemanticGroundingIndex(sentences=False)
    assert texts_of(one, row) == ["q", "c", TWO]
    scores, full = score(one, row), score(SemanticGroundingIndex(), row)
    assert "sentences" not in scores.details[0]
    assert scores.values.tolist() == full.values.tolist()


def test_sentences_of_a_row_without_value_have_none():
    scores = score(SemanticGroundingIndex(), sample(contexts=("q",), response=TWO))
    assert [sentence["sgi"] for sentence in scores.details[0]["sentences"]] == [None, None]


@pytest.mark.parametrize("one", ALL)
def test_a_text_that_the_model_does_not_read_is_as_a_blank_one(one):
    rows = [sample(contexts=("c", "x", "d")), sample(response="x"), sample("x"), sample(contexts=("x", " "))]
    scores = score(one, *rows, unread={"x", "x\n\n ", "x\n\n"})
    with_passages = not isinstance(one, ResponseQuestionAngle)
    assert scores.ok.tolist() == [True, False, False, not with_passages]
    assert "of the response" in scores.reasons[1]
    assert "of the question" in scores.reasons[2]
    if with_passages:
        assert "of the passages" in scores.reasons[3]
    if with_passages and one.passages != "joined":
        without = score(one, sample(contexts=("c", " ", "d")))
        assert scores.values[0] == without.values[0]
        assert scores.details[0] == without.details[0]


def test_a_sentence_that_the_model_does_not_read_has_no_value():
    response = "Paris is big. 公司盈利。"
    whole = score(SemanticGroundingIndex(), sample(response=response))
    scores = score(SemanticGroundingIndex(), sample(response=response), unread={"公司盈利。"})
    assert scores.values.tolist() == whole.values.tolist()
    first, second = scores.details[0]["sentences"]
    assert first == whole.details[0]["sentences"][0]
    assert second == {"text": "公司盈利。", "sgi": None}


def test_theta_rq_needs_no_passage():
    scores = score(ResponseQuestionAngle(), sample(contexts=()), sample(question=""))
    assert scores.status.tolist() == ["ok", "undefined"]
