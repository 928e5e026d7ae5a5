"""Pairs of questions with good and bad answers, in random vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgi.geometry import unit
from sgi_lab.paper.geometry.near_duplicates import Pairs
from sgi_lab.paper.geometry.reference import ReferenceSet

COUNT = 40


def random_rows(n: int, seed: int, d: int = 16) -> NDArray[np.float32]:
    return unit(np.random.default_rng(seed).normal(size=(n, d))).astype(np.float32)


class Answers:
    """Good and bad answers to as many questions, in vectors that hold nothing of which is good."""

    def __init__(self, count: int = COUNT, dimension: int = 16) -> None:
        self.ids = [f"good-{i}" for i in range(count)] + [f"bad-{i}" for i in range(count)]
        self.groups = [f"{i}" for i in range(count)] * 2
        self.questions = [f"What is number {i}?" for i in range(count)] * 2
        self.responses = [f"It is {i}." for i in range(count)] + [f"It is not {i}." for i in range(count)]
        self.question_rows = np.concatenate([random_rows(count, 1, dimension)] * 2)
        self.response_rows = random_rows(2 * count, 2, dimension)
        self.labels = np.arange(2 * count) < count

    def columns(self, chosen: slice = slice(None)) -> tuple[Any, ...]:
        return (
            self.ids[chosen],
            self.groups[chosen],
            self.questions[chosen],
            self.responses[chosen],
            self.question_rows[chosen],
        )

    def reference(self, chosen: slice = slice(COUNT)) -> ReferenceSet:
        return ReferenceSet.fit(Pairs.of(*self.columns(chosen)), self.response_rows[chosen])


def changed(columns: tuple[Any, ...], **changes: Any) -> tuple[Any, ...]:
    """One pair's columns with something else in its place."""
    names = ("ids", "groups", "questions", "responses", "question_rows")
    return tuple(changes.get(name, column) for name, column in zip(names, columns, strict=True))


def moved(question_rows: NDArray[Any], by: Any, seed: int = 3) -> NDArray[Any]:
    """Rows turned by an angle each."""
    aside = random_rows(len(question_rows), seed, question_rows.shape[1]).astype(np.float64)
    aside -= np.vecdot(aside, question_rows)[:, None] * question_rows
    turned: NDArray[Any] = np.cos(by) * question_rows + np.sin(by) * unit(aside)
    return turned.astype(question_rows.dtype)


NEW = {"ids": ["fresh"], "groups": ["fresh"], "questions": ["Fresh?"], "responses": ["Fresh."]}
FRESH = {**NEW, "question_rows": moved(random_rows(COUNT, 1)[[3]], 0.01)}  # nearest to question 3
