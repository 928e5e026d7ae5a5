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
SHARES_ARE = "shares count what the rules call them, and intervals do not include wrong diagnoses"
"""What the shares of causes are: said wherever they are shown."""

TITLES: dict[Cause, str] = {
    "retrieval_miss": "The retriever did not find a passage with the answer.",
    "passage_ranked_low": "The passage with the answer was retrieved, but its rank is low.",
    "ignored_context": "The passages have the answer, but the response states something else.",
    "unsupported_claim": "A part of the response may be unsupported: read it.",
    "contradicted_fact": "A passage or the reference has another number, date or name than the response.",
    "wrong_citation": "A cited passage may not support its statement, or does not exist.",
    "needless_refusal": "The response refuses, although the passages have the answer.",
    "answered_unanswerable": "The response answers a question that the data cannot answer.",
    "incomplete_answer": "The response lacks a part of the reference.",
    "off_topic": "The response may be about something else than the question.",
    "correct": "Nothing is wrong that the signals can show.",
}
"""What each cause means."""
