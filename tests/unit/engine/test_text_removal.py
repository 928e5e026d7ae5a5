"""What a run that keeps no texts stores of its summary and scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sgi.engine.accumulator import Accumulator
from sgi.engine.run_recorder import REASON_NOT_KEPT, scores_without_texts, summary_without_texts
from sgi.engine.summarise import summarise
from sgi.kernel.clusters import Clustering, DominantCluster
from sgi.kernel.metric import Scores, Status


def test_the_dominant_question_of_a_summary_is_a_placeholder_and_its_note_shows_no_text():
    made = replace(
        summarise(Accumulator(), [], ""), clustering=Clustering(dominant=DominantCluster("Who?", 9, 2))
    )
    kept = summary_without_texts(made)
    assert "Who?" not in str(kept.to_dict())
    assert "'(text not kept)'" in kept.notes()[0]


def test_scores_keep_numbers_classes_and_reasons_that_quote_nothing():
    scores = Scores(
        np.array([0.5, np.nan, np.nan]),
        np.array([Status.OK, Status.UNDEFINED, Status.FAILED]).astype("<U9"),
        ("", "the response is blank", "the judge said 'Paris'"),
        ({"band": "high", "why": "Paris", "parts": [1, "Paris", {"at": 2, "text": "Paris"}]}, {}, {}),
    )
    kept = scores_without_texts(scores, "band")
    assert kept.details[0] == {"band": "high", "parts": [1, {"at": 2}]}
    assert kept.reasons == ("", "the response is blank", REASON_NOT_KEPT)
