import pytest

from sgi.metrics.composite import LlmJudgedOverall
from sgi.metrics.judged.ratings import (
    AnswerRelevanceRated,
    ContextRelevance,
    Groundedness,
    Ratings,
    StoredRating,
)
from support.scripted import ROW, ask_metric, outcome, score_metric

TRIAD = (AnswerRelevanceRated(), ContextRelevance(), Groundedness())


def one(rating):
    return {"reasoning": f"It is {rating}.", "rating": rating}


def every(answer=1, context=2, grounded=3):
    return {
        "ratings.all": {
            "answer_relevance": one(answer),
            "context_relevance": one(context),
            "groundedness": one(grounded),
        }
    }


@pytest.mark.parametrize(("metric", "rating"), [*zip(TRIAD, (1, 2, 3), strict=True)])
def test_each_takes_its_own_rating_of_one_and_the_same_call(metric, rating):
    evidence, (inquiry,) = ask_metric(metric, ROW, every())
    assert evidence == StoredRating(reasoning=f"It is {rating}.", rating=rating)
    scores = score_metric(metric, ROW, evidence)
    assert scores.values.tolist() == [rating / 3]
    assert scores.details[0]["rated"] == ("bad", "average", "good", "excellent")[rating]
    _, (other,) = ask_metric(LlmJudgedOverall(), ROW, every())
    assert (inquiry.prompt.digest, inquiry.text) == (other.prompt.digest, other.text)


@pytest.mark.parametrize(
    ("metric", "lost", "prompt"),
    [
        (AnswerRelevanceRated(), {"contexts": ()}, "ratings.answer_relevance"),
        (ContextRelevance(), {"response": ""}, "ratings.context_relevance"),
        (Groundedness(), {"question": " "}, "ratings.groundedness"),
    ],
)
def test_where_a_text_is_blank_only_what_can_be_rated_is_asked(metric, lost, prompt):
    evidence, (inquiry,) = ask_metric(metric, ROW.model_copy(update=lost), {prompt: one(3)})
    assert evidence.rating == 3
    assert inquiry.prompt.name == prompt


@pytest.mark.parametrize(
    ("metric", "lost", "expected"),
    [
        (AnswerRelevanceRated(), {"response": "\t"}, (0.0, "ok", "")),
        (AnswerRelevanceRated(), {"question": ""}, (None, "undefined", "the question is blank")),
        (ContextRelevance(), {"question": ""}, (None, "undefined", "the question is blank")),
        (ContextRelevance(), {"contexts": ()}, (None, "missing", "there are no passages, or all are blank")),
        (
            ContextRelevance(),
            {"contexts": ("", " ")},
            (None, "missing", "there are no passages, or all are blank"),
        ),
        (Groundedness(), {"response": ""}, (None, "undefined", "the response is blank")),
        (Groundedness(), {"contexts": (" ",)}, (0.0, "ok", "")),
    ],
)
def test_what_cannot_be_rated_is_not_asked(metric, lost, expected):
    sample = ROW.model_copy(update=lost)
    assert outcome(metric, sample, {}) == expected
    assert ask_metric(metric, sample, {})[1] == []


@pytest.mark.parametrize("rating", [-1, 4, 2.0, "good", True, None])
def test_a_rating_outside_the_scale_fails_every_one_of_them(rating):
    for metric in (*TRIAD, LlmJudgedOverall()):
        value, status, reason = outcome(metric, ROW, every(context=rating))
        assert (value, status) == (None, "failed")
        assert reason


def test_of_passages_in_portions_the_best_counts():
    sample = ROW.model_copy(update={"contexts": ("dull " * 10, "bright " * 8, "plain " * 9)})

    def script(inquiry, schema):
        bright = "bright" in inquiry.text
        return every(3 if bright else 1, 3 if bright else 0, 2)["ratings.all"]

    evidence, inquiries = ask_metric(LlmJudgedOverall(), sample, script, budget=16)
    assert len(inquiries) == 3
    ratings = (evidence.answer_relevance, evidence.context_relevance, evidence.groundedness)
    # The answer's relevance is no matter of passages: more of them are no more chances.
    assert [rated.rating for rated in ratings] == [1, 3, 2]


def test_nothing_to_rate_needs_no_call():
    sample = ROW.model_copy(update={"question": "", "response": ""})
    evidence, inquiries = ask_metric(LlmJudgedOverall(), sample, {})
    assert (evidence, inquiries) == (Ratings(), [])


def test_overall_is_the_mean_of_what_is_ok():
    evidence, _ = ask_metric(LlmJudgedOverall(), ROW, every(0, 1, 3))
    scores = score_metric(LlmJudgedOverall(), ROW, evidence)
    assert scores.values[0] == pytest.approx(4 / 9, abs=1e-15)
    assert scores.details[0]["parts"] == {
        "answer_relevance_rated": 0.0,
        "context_relevance": 1 / 3,
        "groundedness": 1.0,
    }


def test_overall_leaves_out_what_is_undefined_and_says_so():
    sample = ROW.model_copy(update={"response": ""})
    evidence, _ = ask_metric(LlmJudgedOverall(), sample, {"ratings.context_relevance": one(3)})
    scores = score_metric(LlmJudgedOverall(), sample, evidence)
    assert scores.values.tolist() == [0.5]  # a blank response is 0 for answer relevance
    assert scores.details[0]["reasons"] == {"groundedness": "the response is blank"}
