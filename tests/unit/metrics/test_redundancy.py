import pytest

from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features

EMMA = "Emma, a novel about youthful hubris, was written by Jane Austen in 1815."
OTHER = "Persuasion is the last novel fully completed by Jane Austen."


def score(*contexts, name="redundancy"):
    scored = metric(name)
    return scored.score(Batch.of([Sample(id="1", contexts=contexts)]), Features.of())


@pytest.mark.parametrize(
    ("contexts", "value"),
    [
        ([EMMA], 0),
        ([EMMA, OTHER, EMMA.upper()], 1 / 3),
        ([EMMA, "", " ", EMMA], 1 / 2),
        ([f"{EMMA} {OTHER}", OTHER], 1 / 2),
        ([OTHER, f"{EMMA} {OTHER}"], 0),
        (["東京は日本の首都である。", "東京は日本の首都である!"], 1 / 2),
    ],
)
def test_a_passage_that_adds_nothing_is_a_repeat(contexts, value):
    assert score(*contexts).values.tolist() == [value]


def test_details_name_the_most_similar_earlier_passage():
    close = EMMA.replace("1815", "1816")
    assert score(OTHER, EMMA, close, name="redundancy(threshold=0.5)").details[0] == {
        "passages": 3,
        "repeats": [{"passage": 3, "repeats": 2, "similarity": pytest.approx(10 / 11)}],
    }


def test_without_words_there_is_no_value():
    for contexts in ((), ("", " "), ("?!",)):
        assert score(*contexts).reasons == ("no passage has words",)
