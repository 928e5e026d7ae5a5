"""Draw the picture of docs/which-metric.md: from what a user wants to know to the metric or command.

    python scripts/metric_tree.py      # writes docs/images/metric-tree.svg

Plain SVG with system fonts; its colours follow the light or dark scheme of the reader.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[1] / "docs" / "images" / "metric-tree.svg"


class Answer(NamedTuple):
    """A leaf: the condition on the way to it, its metrics or commands, and those that need a judge."""

    condition: str
    names: str
    judged: str = ""


TREE = {
    "Are the answers good?": (
        Answer("true to the passages", "grounding", "faithfulness"),
        Answer("as expected", "semantic_similarity, squad_token_f1", "factual_accuracy"),
        Answer("citations right", "citation_recall, citation_precision"),
        Answer("refuses when it should", "needless_refusal, correct_refusal"),
        Answer("fits the question", "", "answer_relevance"),
    ),
    "Did retrieval find the passages?": (
        Answer("with gold passages", "recall@5, mrr, ndcg@10"),
        Answer("with references", "context_entity_recall"),
        Answer("with neither", "question_context_similarity, redundancy"),
    ),
    "Is a conversation consistent?": (
        Answer("answers", "contradicts_itself, grounding(history=true)"),
        Answer("questions", "standalone_question"),
    ),
    "How fast and expensive is it?": (Answer("", "latency, total_tokens, cost"),),
    "What is wrong with my system?": (Answer("", "sgi diagnose"),),
    "Is a change an improvement?": (
        Answer("two runs", "sgi compare, sgi gate"),
        Answer("several systems", "sgi compare A B C", "sgi duel A B C"),
        Answer("answers vary", "sgi repeats"),
    ),
    "Something of my own": (Answer("no code", "metrics.toml: formulas, assertions", "rubric"),),
}
_WIDTH, _LINE, _GAP = 880, 26, 10
_QUESTION, _BOX, _CONDITION, _NAMES = 10, 262, 304, 470
_STYLE = """
    text { font: 13px system-ui, "Segoe UI", Arial, sans-serif; fill: #1c2024; }
    .question { font-weight: 600; }
    .condition { fill: #60646c; }
    .judged { fill: #5746af; }
    path { stroke: #b9bbc6; fill: none; }
    .ground { fill: #fcfcfd; }
    .box { fill: #f0f0f3; }
    @media (prefers-color-scheme: dark) {
      text { fill: #edeef0; } .condition { fill: #b0b4ba; } .judged { fill: #baa7ff; }
      path { stroke: #5a6169; } .ground { fill: #111113; } .box { fill: #212225; }
    }
"""


def picture() -> str:
    """Return the SVG."""
    parts, y = [], _GAP
    for question, answers in TREE.items():
        middle = y + _LINE * len(answers) / 2
        parts += [
            f'<rect class="box" x="{_QUESTION}" y="{middle - 14:g}" width="{_BOX}" height="28" rx="6"/>',
            _text("question", _QUESTION + 10, middle, question),
        ]
        for place, answer in enumerate(answers):
            parts += _leaf(answer, middle, y + _LINE * (place + 0.5))
        y += _LINE * len(answers) + _GAP
    title = "From the question to the metric; metrics after “judge:” need an LLM judge"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" role="img" aria-label="{title}">'
    )
    ground = f'<rect class="ground" width="{_WIDTH}" height="{y}"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", ground, *parts, "</svg>", ""])


def _leaf(answer: Answer, start: float, end: float) -> Iterator[str]:
    """Yield a line from the question, the condition and the names."""
    left, right = _QUESTION + _BOX, _CONDITION - 6
    bend = (left + right) / 2
    yield f'<path d="M{left} {start:g} C{bend:g} {start:g} {bend:g} {end:g} {right} {end:g}"/>'
    if answer.condition:
        yield _text("condition", _CONDITION, end, answer.condition)
    judged = f'<tspan class="judged">{", " * bool(answer.names)}judge: {escape(answer.judged)}</tspan>'
    place = _NAMES if answer.condition else _CONDITION
    yield _text("", place, end, answer.names, judged if answer.judged else "")


def _text(kind: str, x: float, middle: float, words: str, more: str = "") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{middle + 4.5:g}">{escape(words)}{more}</text>'


if __name__ == "__main__":
    PAGE.write_text(picture(), encoding="utf-8")
