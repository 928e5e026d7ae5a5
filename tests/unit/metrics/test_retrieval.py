import math

import numpy as np
import pytest

from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.stats.trec_measures import RankedHits

RETRIEVED = ("a", "b", "c", "d", "e")
BY_ID = Sample(id="1", context_ids=RETRIEVED, relevance={"b": 1, "d": 2, "x": 3, "y": 1, "a": 0, "c": -1})


def score(name, *samples):
    scored = metric(name)
    return scored.score(scored.prepare(Batch.of(samples)), Features.of())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("recall", 2 / 4),
        ("recall@2", 1 / 4),
        ("recall@100", 2 / 4),
        ("precision", 2 / 5),
        ("precision@4", 2 / 4),
        ("precision@10", 2 / 10),
        ("hit_rate@1", 0),
        ("hit_rate@2", 1),
        ("mrr", 1 / 2),
        ("mrr@1", 0),
        ("map", (1 / 2 + 2 / 4) / 4),
        ("map@3", 1 / 2 / 4),
        ("r_precision", 2 / 4),
        (
            "ndcg@4",
            (1 / math.log2(3) + 2 / math.log2(5))
            / (3 + 2 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)),
        ),
        ("ndcg@1", 0),
    ],
)
def test_values_by_hand(name, value):
    assert score(name, BY_ID).values.tolist() == [pytest.approx(value, abs=1e-15)]


def test_details_name_the_hits_and_their_ranks():
    assert score("recall@1", BY_ID).details[0] == {
        "relevant": 4,
        "retrieved": 5,
        "hits": [
            {"rank": 2, "grade": 1, "match": "id", "id": "b"},
            {"rank": 4, "grade": 2, "match": "id", "id": "d"},
        ],
    }


EMMA = "Emma, a novel about youthful hubris, was written by Jane Austen in 1815."


def test_gold_texts_match_by_equal_words_and_then_by_similarity():
    contexts = (
        f"Novels. {EMMA} It was published in London.",
        "emma a novel about YOUTHFUL hubris was written by jane austen in 1815",
        "Persuasion is the last novel completed by Jane Austen.",
    )
    gold = (EMMA, "Persuasion is the last novel fully completed by Jane Austen.", "Emma is a name.")
    row = Sample(id="1", contexts=contexts, gold_passages=gold)
    scores = score("recall(threshold=0.6)", row)

    assert scores.values.tolist() == [2 / 3]
    assert scores.details[0]["hits"] == [
        {"rank": 2, "grade": 1, "match": "text", "gold": 1},
        {"rank": 3, "grade": 1, "match": "similarity", "gold": 2, "similarity": 0.625},
    ]
    assert score("recall(threshold=0.8)", row).values.tolist() == [1 / 3]


def test_a_passage_that_contains_a_gold_passage_is_a_hit_and_its_copy_is_not():
    row = Sample(id="1", contexts=(f"Novels. {EMMA}", f"{EMMA} Novels."), gold_passages=(EMMA, EMMA.upper()))

    assert score("precision", row).values.tolist() == [1 / 2]
    assert score("recall", row).values.tolist() == [1.0]


def test_ids_are_used_before_texts():
    row = Sample(id="1", contexts=(EMMA,), gold_passages=(EMMA,), context_ids=("a",), relevance={"b": 1})

    assert score("recall", row).values.tolist() == [0.0]


def test_without_gold_or_retrieval_there_is_a_status_and_a_reason():
    rows = [
        Sample(id="1", context_ids=("a",), relevance={}),
        Sample(id="2", context_ids=("a",), relevance={"a": 0}),
        Sample(id="3", contexts=("a",), gold_passages=(" ",)),
        Sample(id="4", contexts=("a",), relevance={"a": 1}),
        Sample(id="5", context_ids=("a",), gold_passages=("a",)),
        Sample(id="6", context_ids=(), relevance={"a": 1}),
    ]
    scores = score("ndcg@5", *rows)

    assert scores.status.tolist() == ["undefined"] * 3 + ["missing"] * 2 + ["ok"]
    assert {*scores.reasons[:3]} == {"no passage is relevant to the question"}
    assert scores.reasons[3] == "the sample has relevance but no context_ids"
    assert scores.reasons[4] == "the sample has gold_passages but no contexts"
    assert scores.values[5] == 0


def test_nothing_retrieved_scores_0_for_every_metric():
    rows = [Sample(id=name, **{name: ()}, relevance={"a": 1}) for name in ("context_ids", "contexts")]
    for name in ("recall", "recall@3", "precision", "precision@3", "hit_rate", "mrr", "map@3", "r_precision"):
        assert score(name, *rows).values.tolist() == [0.0, 0.0]


def test_canonical_strings():
    for text, canonical in {
        "recall(k=5)": "recall@5",
        " recall@5 ": "recall@5",
        "ndcg@10(threshold=0.8)": "ndcg@10(threshold=0.8)",
        "map(threshold=1)": "map(threshold=1.0)",
        "recall@5(threshold=0.7)": "recall@5",
    }.items():
        assert metric(text).canonical == canonical
        assert metric(metric(text).canonical) == metric(text)


def test_no_queries_and_no_hits():
    assert RankedHits.of([], [], []).ndcg(5).tolist() == []
    assert np.isnan(RankedHits.of([[], []], [2, 0], [[], [0]]).average_precision(None)).all()
