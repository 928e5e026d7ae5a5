"""An example of each metric, computed when its page is made."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sgi
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.sample import Field
from sgi.testing import ScriptedJudge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.kernel.metric import AnyMetric, Score
    from sgi.kernel.prompts import Inquiry

_QUESTION = "When was the Eiffel Tower finished, and how tall is it?"
_TURNS = [
    {"role": "user", "content": "How tall is the Eiffel Tower?"},
    {"role": "assistant", "content": "It is 330 metres tall."},
    {"role": "user", "content": "And when was it finished?"},
]
_ROW: dict[str, Any] = {
    "question": _QUESTION,
    "contexts": [
        "The Eiffel Tower was finished in 1889. It is 330 metres tall.",
        "The tower stands on the Champ de Mars in Paris.",
    ],
    "response": "The Eiffel Tower was finished in 1889 [1]. It is 312 metres tall [1].",
    "reference": "It was finished in 1889 and is 330 metres tall.",
    "context_ids": ["eiffel", "champ"],
    "relevance": {"eiffel": 1},
    "answerable": True,
    "turns": _TURNS,
    "latency_ms": 840,
    "prompt_tokens": 512,
    "completion_tokens": 38,
    "cost": 0.0011,
}
_REFUSES = {
    "question": "Who painted it?",
    "response": "The passages do not say who painted it.",
    "answerable": False,
}
_CHANGES: dict[str, dict[str, Any]] = {
    "quote_accuracy": {"response": 'The page says that the tower "was finished in 1889" [1].'},
    "refusal": _REFUSES,
    "correct_refusal": _REFUSES,
    "answered_unanswerable": _REFUSES,
    "correct_refusal_judged": _REFUSES,
    "answered_unanswerable_judged": _REFUSES,
    "valid_json": {"response": '{"year": 1889}'},
    "json_schema": {"response": '{"year": 1889}'},
    "standalone_question": {"question": "And when was it finished?"},
    "conversation_relevance": {"question": "And when was it finished?"},
    "redundancy": {"contexts": [_ROW["contexts"][0], _ROW["contexts"][0], _ROW["contexts"][1]]},
}
"""Fields of the row that differ for a metric."""
_FIELDS = {
    Field.RETRIEVED: ("context_ids",),
    Field.GOLD: ("relevance",),
}
_PARTS = ("question", "contexts", "response", "reference")
"""The fields for metrics that combine others."""
_NOT_SUPPORTED = "312"
_WRONG = "The answer gives 312 metres, the passage 330."
_RATINGS: dict[str, Any] = {
    "answer_relevance": {"reasoning": "It answers both parts.", "rating": 3},
    "context_relevance": {"reasoning": "Passage 1 has both facts.", "rating": 3},
    "groundedness": {"reasoning": _WRONG, "rating": 1},
}
_REPLIES: dict[str, Any] = {
    "answer_relevance.questions": {
        "questions": ["When was the Eiffel Tower finished?", "How tall is the Eiffel Tower?", _QUESTION],
        "reason": "It states a year and a height.",
        "noncommittal": False,
    },
    "factual_accuracy.criteria": {
        "correctness": {"reasoning": _WRONG, "score": 50},
        "completeness": {"reasoning": "It gives year and height.", "score": 100},
        "consistency": {"reasoning": "It does not contradict itself.", "score": 100},
    },
    "answer_classification.verdict": {"reasoning": _WRONG, "verdict": "WRONG"},
    "answerability.verdict": {"reason": "Passage 1 has both facts.", "answerable": 1},
    "conversation_relevance.rating": {"reason": "It gives the year that the user asks for.", "rating": 4},
    "rubric.rating": {"reason": "It is neutral.", "rating": 2},
    "ratings.all": _RATINGS,
}
"""Replies by the name of the prompt; other prompts are answered by the texts that they contain."""


@dataclass(frozen=True)
class Example:
    """A row, the score of a metric, and the replies of the judge by the names of the prompts."""

    row: Mapping[str, Any]
    score: Score
    replies: tuple[tuple[str, Any], ...]


def example(metric: AnyMetric) -> Example:
    """Score the row of a metric."""
    needs = [name for need in Field if need in metric.spec.needs for name in _FIELDS.get(need, (str(need),))]
    if needs and not {*_PARTS} & {*needs}:
        needs.insert(0, "question")  # a row needs a text
    changes = _CHANGES.get(metric.spec.name, {})
    row = {name: changes.get(name, _ROW[name]) for name in needs or _PARTS}
    score, replies = _score(metric, row)
    return Example(row, score, replies)


def _score(metric: AnyMetric, row: Mapping[str, Any]) -> tuple[Score, tuple[tuple[str, Any], ...]]:
    replies = []

    def reply(inquiry: Inquiry, _schema: Any) -> Any:
        replies.append((inquiry.prompt.name, _reply(inquiry)))
        return replies[-1][1]

    judge = ScriptedJudge(reply) if isinstance(metric, JudgedMetric) else None
    result = sgi.evaluate([row], [metric], "minilm", judge=judge, cache=False, max_failures=1.0)
    return result[metric.canonical].row(0), tuple(replies)


def _reply(inquiry: Inquiry) -> Any:
    """Return the reply of a careful judge to a prompt of SGI about the row of the examples."""
    name = inquiry.prompt.name
    lines = re.findall(r"^\[\d+ \w+\] (.*)$", inquiry.text, re.MULTILINE)
    asked = [*enumerate(lines[-inquiry.items :], 1)] if inquiry.items else []
    if name == "claims.extract":
        height = 312 if _NOT_SUPPORTED in inquiry.text else 330
        return {
            "claims": ["The Eiffel Tower was finished in 1889.", f"The Eiffel Tower is {height} metres tall."]
        }
    if name == "claims.verify":
        return {"verdicts": [_verdict(number, claim) for number, claim in asked]}
    if name == "context_precision.relevance":
        return {"verdicts": [_relevance(number, passage) for number, passage in asked]}
    if name == "answerability.verdict" and "painted" in inquiry.text:
        return {"reason": "No passage names a painter.", "answerable": 0}
    return (
        _RATINGS[name.removeprefix("ratings.")]
        if name.removeprefix("ratings.") in _RATINGS
        else _REPLIES[name]
    )


def _verdict(number: int, claim: str) -> dict[str, Any]:
    supported = _NOT_SUPPORTED not in claim
    reason = "Passage 1 says so." if supported else "Passage 1 says 330 metres."
    return {"index": number, "reason": reason, "supported": int(supported), "passage": int(supported)}


def _relevance(number: int, passage: str) -> dict[str, Any]:
    relevant = "1889" in passage
    reason = "It gives year and height." if relevant else "It gives the place only."
    return {"index": number, "reason": reason, "relevance": 95 if relevant else 10, "relevant": relevant}


def as_python(row: Mapping[str, Any]) -> str:
    """Return a row as Python code, one field a line."""
    lines = [f"    {json.dumps(key)}: {_literal(value)}," for key, value in row.items()]
    return "\n".join(["row = {", *lines, "}"])


def _literal(value: Any) -> str:
    text = repr(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list) and len(text) > 60:
        items = "".join(f"        {_literal(item)},\n" for item in value)
        return f"[\n{items}    ]"
    return text
