import numpy as np

import sgi
from sgi.kernel.sample import Sample
from sgi.testing.fakes import HashEmbedder


def test_the_mean_over_passages_that_are_not_blank():
    rows = [
        Sample(id="1", question="Who wrote Emma?", contexts=("Who wrote Emma?", " ", "Nobody")),
        Sample(id="2", question=" ", contexts=("Nobody",)),
        Sample(id="3", question="Who?", contexts=()),
    ]
    embedder = HashEmbedder()
    (scores,) = sgi.evaluate(rows, ["question_context_similarity"], embedder=embedder).values()
    question, nobody = embedder.embed(["Who wrote Emma?", "Nobody"])
    other = max(0.0, float(np.float64(question) @ np.float64(nobody)))

    assert scores.details[0]["passages"][1] is None
    np.testing.assert_allclose(scores.values[0], (1 + other) / 2, atol=1e-6)
    assert scores.reasons[1:] == ("the question is blank", "there are no passages, or all are blank")


def test_a_passage_of_unknown_letters_does_not_count():
    rows = [
        Sample(id="1", question="Where is it warm?", contexts=("It is warm in Rome.", "公司于2023年盈利")),
        Sample(id="2", question="Where is it warm?", contexts=("公司于2023年盈利", " ")),
        Sample(id="3", question="公司于2023年盈利", contexts=("公司于2023年盈利",)),
        Sample(id="4", question="Where is it warm?", contexts=("It is warm in Rome.",)),
    ]
    (scores,) = sgi.evaluate(rows, ["question_context_similarity"]).values()
    assert scores.values[0] == scores.values[3]
    assert scores.details[0]["passages"] == [scores.values[3], None]
    assert [reason.split(" of the ")[-1].split(";")[0] for reason in scores.reasons[1:3]] == [
        "passages",
        "question",
    ]
