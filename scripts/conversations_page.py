"""Compute the figures of docs/conversations.md.

The script replaces the parts between markers in the page. Equal files give equal pages.

    python scripts/conversations_page.py DATA_FOLDER
"""

from __future__ import annotations

import json
import re
import sys
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from page_parts import replace_parts

from sgi.io.dataset import open_dataset
from sgi.metrics.conversation.standalone import dependence
from sgi.metrics.grounding.facts.check import Verdict, check_facts
from sgi.reporting.table import Table
from sgi.stats.intervals import normal_quantile, wilson_ends
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "conversations.md"
QUESTIONS = ROOT / "tests" / "data" / "standalone_questions.jsonl"
STANDALONE = {
    "EVOUNA": "evouna.jsonl",
    "TruthfulQA": "truthfulqa.jsonl",
    "RAGTruth QA": "ragtruth_qa_test.jsonl",
}
ANSWERS = "ragtruth_qa_test.jsonl"
PAIRS = 300
# Not the number of a passage, of a question or of a list item.
_NUMBER = re.compile(r"(?<!assage )(?<!assages )(?<!uestion )(?<![\n:(,-])\b\d+\b(?![.):]\s)")


def share(hits: int, n: int) -> str:
    """Format a share with its Wilson interval."""
    low, high = wilson_ends(hits / n, n, normal_quantile(0.95))
    return f"{hits / n:.3f} [{low:.3f}, {high:.3f}]"


def questions_table(folder: Path) -> str:
    """Return the errors on held questions, and the false alarms on questions of other data."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    held = [row for row in rows if row["part"] == "held"]
    names = {0: "own questions that need the history", 1: "own questions that stand alone"}
    questions = {
        name: [row["text"] for row in held if row["standalone"] == standalone]
        for standalone, name in names.items()
    }
    for name, file in STANDALONE.items():
        texts = {sample.question for sample in open_dataset(folder / file).samples()}
        questions[f"questions of {name}"] = sorted(texts - {""})
    cells = []
    for name, texts in questions.items():
        hits = sum(dependence(text) is not None for text in texts)
        cells.append([name, f"{len(texts)}", f"{hits}", share(hits, len(texts))])
    columns = ["questions", "n", "classified as needing the history", "share"]
    return Table(columns, cells).markdown()


def contradictions_table(folder: Path) -> str:
    """Return how often pairs of answers contradict each other by the fact checks."""
    by_question: dict[str, list[str]] = {}
    for sample in open_dataset(folder / ANSWERS).samples():
        if sample.label:
            by_question.setdefault(sample.question, []).append(sample.response)
    groups = list(by_question.values())
    rng = np.random.default_rng(0)
    same = [pair for group in groups for pair in permutations(group, 2)]
    draws = [rng.choice(len(groups), 2, replace=False) for _ in range(PAIRS)]
    answers = [text for group in groups for text in group]
    pairs = {
        "supported answers to the same question": [same[at] for at in rng.permutation(len(same))[:PAIRS]],
        "supported answers to different questions": [
            (groups[first][0], groups[second][0]) for first, second in draws
        ],
        "an answer, and its copy with one other number": [
            (change_number(text), text) for text in answers if _NUMBER.search(text)
        ],
    }
    cells = []
    for name, texts in pairs.items():
        hits = count_contradictions(texts)
        cells.append([name, f"{len(texts)}", f"{hits}", share(hits, len(texts))])
    columns = ["pairs of answers in RAGTruth QA", "n", "with a contradiction", "share"]
    return Table(columns, cells).markdown()


def change_number(text: str) -> str:
    """Add 7 to the last number of a text."""
    last = list(_NUMBER.finditer(text))[-1]
    return f"{text[: last.start()]}{int(last[0]) + 7}{text[last.end() :]}"


def count_contradictions(pairs: Sequence[tuple[str, str]]) -> int:
    """Return the number of pairs whose first answer has a fact that the second contradicts."""
    return sum(
        any(
            check.verdict is Verdict.CONTRADICTED
            for sentence in sentences(answer)
            for check in check_facts(sentence, [earlier])
        )
        for answer, earlier in pairs
    )


def main() -> None:
    """Replace the computed parts of the page."""
    folder = Path(sys.argv[1])
    parts = {"questions": questions_table(folder), "contradictions": contradictions_table(folder)}
    PAGE.write_text(replace_parts(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main()
