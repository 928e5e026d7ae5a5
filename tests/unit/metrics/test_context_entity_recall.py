import pytest

from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features


def score(contexts, *references):
    row = Sample(id="1", contexts=contexts, reference=references[0], alternatives=references[1:])
    return metric("context_entity_recall").score(Batch.of([row]), Features.of())


@pytest.mark.parametrize(
    ("contexts", "reference", "value"),
    [
        (["The Eiffel Tower was completed on 31 March 1889."], "It was finished on March 31, 1889.", 1),
        (["It is 0.33 km tall."], "It is 330 m tall.", 1),
        (["It is 300 m tall."], "It is 330 m tall.", 0),
        (["The tower is in Paris."], "The tower in Paris was built by Gustave Eiffel.", 1 / 2),
        ([], "It was built by Gustave Eiffel.", 0),
        (["By Gustave Eiffel."], "Gustave Eiffel did. Gustave Eiffel again, in 1889.", 1 / 2),
    ],
)
def test_the_share_of_facts_that_a_passage_states(contexts, reference, value):
    assert score(contexts, reference).values.tolist() == [value]


def test_the_best_reference_counts_and_details_name_the_passages():
    scores = score(
        ["x", "Built by Gustave Eiffel."], "It opened in 1889.", "By Gustave Eiffel in 1889.", "ok"
    )

    assert scores.values.tolist() == [0.5]
    assert scores.details[0]["facts"] == [
        {"text": "Gustave Eiffel", "kind": "name", "passage": 2, "found": "Gustave Eiffel"},
        {"text": "1889", "kind": "date", "passage": None, "found": ""},
    ]


def test_a_reference_without_facts_has_no_value():
    for reference in ("", "it depends"):
        assert score(["Paris"], reference).reasons == ("the reference has no name, number or date",)
