"""Rows of labelled sets with planted citations, whose verdicts are known.

A row has its own passages, joined to one, and passages of other questions. Each statement gets a citation at
random, with a fixed seed. `plant` returns the rows with the verdict of each citation and statement.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sgi.kernel.sample import Sample
from sgi.kernel.signature import digest
from sgi.metrics.grounding.words import split_words
from sgi.text.citation_markers import find_markers
from sgi.text.sentences import sentence_spans, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SEED = 20_261_123
DISTRACTORS = 2
MISSING_POSITION = 9
PLANS = ("right", "wrong", "missing", "invalid", "needless")
SHARES = (0.4, 0.2, 0.1, 0.1, 0.2)
SETS = {
    "RAGTruth QA": "ragtruth_qa_test.jsonl",
    "BEGIN": "begin.jsonl",
    "HaluEval QA": "halueval_qa.jsonl",
    "FoolMeTwice": "entailment/fool_me_twice.jsonl",
}
TRAINED = "halueval_qa_lenmatched.jsonl"
MAX_ROWS = 600


class Source(NamedTuple):
    """A labelled answer: its passages, and the spans of the answer that they do not support."""

    question: str
    passage: str
    response: str
    unsupported: tuple[tuple[int, int], ...]


class PlantedStatement(NamedTuple):
    """A statement with its planted citation.

    ``supported`` is whether its own passage supports the statement. ``verdicts`` are the expected verdicts of
    its citations, in order. ``recalled`` is whether its citations support it.
    """

    plan: str
    supported: bool
    recalled: bool
    verdicts: tuple[str, ...]


@dataclass(frozen=True)
class PlantedRow:
    """A row with planted citations; ``half`` is 0 (for the threshold) or 1 (for the report)."""

    sample: Sample
    statements: tuple[PlantedStatement, ...]
    half: int


def plant(name: str, folder: Path) -> list[PlantedRow]:
    """Plant citations in the answers of a set."""
    sources = [source for source in _sources(name, folder) if not find_markers(source.response)][:MAX_ROWS]
    draws = np.random.default_rng([SEED, len(name)])
    others = _similar_passages(sources)
    return [_plant(f"{name}-{at}", source, others[at], draws) for at, source in enumerate(sources)]


def _sources(name: str, folder: Path) -> Iterator[Source]:
    rows = _rows(folder / SETS[name])
    if name == "HaluEval QA":
        trained = {row["question"] for row in _rows(folder / TRAINED)}
        for row in rows:
            if row["question"] not in trained:
                for key in ("right_answer", "hallucinated_answer"):
                    bad = () if key == "right_answer" else ((0, len(row[key])),)
                    yield Source(row["question"], row["knowledge"], row[key], bad)
        return
    for row in rows:
        if row["label"] is None or not row["response"].strip():
            continue
        context = row["context"] if isinstance(row["context"], list) else [row["context"]]
        spans = tuple((span["start"], span["end"]) for span in row["meta"].get("spans", ()))
        whole = ((0, len(row["response"])),)
        bad = () if row["label"] else spans or whole
        yield Source(row["question"], "\n".join(context), row["response"], bad)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _similar_passages(sources: Sequence[Source]) -> list[list[str]]:
    """Return for each answer the passages of other questions that share the most words with it.

    A passage that shares a sentence with the answer's own passage is left out: it may support the answer.
    """
    passages = list(dict.fromkeys(source.passage for source in sources))
    vocabularies = [split_words(passage).vocabulary for passage in passages]
    parts = [frozenset(sentences(passage)) for passage in passages]
    place = {passage: at for at, passage in enumerate(passages)}
    questions: dict[str, set[str]] = {}
    for source in sources:
        questions.setdefault(source.passage, set()).add(source.question)
    chosen = []
    for source in sources:
        own = split_words(source.response).vocabulary
        order = sorted(range(len(passages)), key=lambda at: (-len(own & vocabularies[at]), at))
        distinct = (
            passages[at]
            for at in order
            if parts[at].isdisjoint(parts[place[source.passage]])
            and not (source.question and source.question in questions[passages[at]])
        )
        chosen.append([next(distinct) for _ in range(DISTRACTORS)])
    return chosen


def _plant(name: str, source: Source, others: Sequence[str], draws: np.random.Generator) -> PlantedRow:
    contexts = [source.passage, *others]
    order = draws.permutation(len(contexts)).tolist()
    own, other = order.index(0) + 1, order.index(1) + 1
    text, at = "", 0
    statements = []
    for start, end in sentence_spans(source.response):
        plan = str(draws.choice(PLANS, p=SHARES))
        supported = not any(first < end and start < last for first, last in source.unsupported)
        right = "right" if supported else "wrong"
        verdicts: tuple[str, ...] = {
            "right": (right,),
            "wrong": ("wrong",),
            "missing": (),
            "invalid": ("invalid",),
            "needless": (right, "needless" if supported else "wrong"),
        }[plan]
        cited = {"right": [own], "wrong": [other], "invalid": [MISSING_POSITION], "needless": [own, other]}
        marker = "".join(f"[{number}]" for number in cited.get(plan, ()))
        sentence = source.response[start:end]
        stop = len(sentence) - (sentence[-1] in ".!?")
        marker = f" {marker}" if marker else ""
        text += source.response[at:start] + sentence[:stop] + marker + sentence[stop:]
        at = end
        recalled = supported and plan in {"right", "needless"}
        statements.append(PlantedStatement(plan, supported, recalled, verdicts))
    half = digest((source.question or source.passage).encode(), size=8)[0] % 2
    shuffled = tuple(contexts[place] for place in order)
    sample = Sample(id=name, question=source.question, contexts=shuffled, response=text)
    return PlantedRow(sample, tuple(statements), half)
