"""The closed set of causes."""

from __future__ import annotations

from typing import Literal, get_args

Cause = Literal[
    "retrieval_miss",
    "passage_ranked_low",
    "ignored_context",
    "unsupported_claim",
    "contradicted_fact",
    "wrong_citation",
    "needless_refusal",
    "answered_unanswerable",
    "incomplete_answer",
    "off_topic",
    "correct",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)
CORRECT: Cause = "correct"
NOT_DIAGNOSED = "not diagnosed"

TITLES: dict[Cause, str] = {
    "retrieval_miss": "The retriever did not find a passage with the answer.",
    "passage_ranked_low": "The passage with the answer was retrieved, but its rank is low.",
    "ignored_context": "The passages have the answer, but the response does not come from them.",
    "unsupported_claim": "The response states something that no passage supports.",
    "contradicted_fact": "A number, date or name of the response contradicts a passage or the reference.",
    "wrong_citation": "A citation does not support its statement, or cites a missing passage.",
    "needless_refusal": "The response refuses, although the passages have the answer.",
    "answered_unanswerable": "The response answers a question that the data cannot answer.",
    "incomplete_answer": "The response lacks a part of the reference.",
    "off_topic": "The response is not about the question.",
    "correct": "Nothing is wrong that the signals can show.",
}
"""What each cause means."""
