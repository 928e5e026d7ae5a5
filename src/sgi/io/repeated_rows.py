"""Datasets from another dataset: each row several times, or a row for each turn of a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.text.conversation import turn_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.io.column_use import ReportColumns
    from sgi.io.readers import Dataset
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample


REPEAT = "repeat"
"""The metadata column with the number of the answer to a question, from 1."""
JUDGE_REPEAT = "judge_repeat"
"""The metadata column with the number of the judgement of an answer, from 1."""


def judge_repeat(sample: Sample) -> int:
    """Return which of the repeated judgements a row holds, from 1; 1 without a valid number.

    >>> from sgi.kernel.sample import Sample
    >>> judge_repeat(Sample(id="q1~2", metadata={"judge_repeat": 2}))
    2
    """
    number = sample.metadata.get(JUDGE_REPEAT)
    return number if type(number) is int and number > 0 else 1


def answer_id(sample: Sample) -> str:
    """Return the part of the id that all judgements of one answer have in common.

    >>> from sgi.kernel.sample import Sample
    >>> answer_id(Sample(id="q1#3~2", metadata={"judge_repeat": 2}))
    'q1#3'
    """
    number = sample.metadata.get(JUDGE_REPEAT)
    return sample.id if number is None else sample.id.removesuffix(f"~{number}")


@dataclass(frozen=True)
class RepeatedDataset:
    """The rows of a dataset, each several times in a row.

    Attributes:
        answers: number of answers to each question; ids get the suffix ``#1``, ``#2`` and so on.
        judgements: number of judgements of each answer; ids get the suffix ``~1``, ``~2`` and so on.
    """

    dataset: Dataset
    answers: int = 1
    judgements: int = 1

    @property
    def name(self) -> str:
        """The name for messages and the signature."""
        return self.dataset.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; see `Dataset.samples`."""
        for sample in self.dataset.samples(on_reject=on_reject, on_columns=on_columns):
            for answer in _repeats(sample, self.answers, REPEAT, "#"):
                yield from judgement_rows(answer, self.judgements)


def judgement_rows(sample: Sample, times: int) -> Iterator[Sample]:
    """Yield copies of a row, one for each of several judgements of its answer.

    >>> from sgi.kernel.sample import Sample
    >>> [row.id for row in judgement_rows(Sample(id="q1"), 2)]
    ['q1~1', 'q1~2']
    """
    return _repeats(sample, times, JUDGE_REPEAT, "~")


def _repeats(sample: Sample, times: int, column: str, mark: str) -> Iterator[Sample]:
    if times == 1:
        yield sample
        return
    for number in range(1, times + 1):
        metadata = {**sample.metadata, column: number}
        yield sample.model_copy(update={"id": f"{sample.id}{mark}{number}", "metadata": metadata})


@dataclass(frozen=True)
class PerTurn:
    """Data whose rows with turns are split into a row for each turn; see `sgi.text.conversation.turn_rows`.

    >>> from sgi.io.dataset import open_dataset
    >>> messages = [{"role": role, "text": text} for role, text in zip(["user", "assistant"] * 2, "abcd")]
    >>> [(row.id, row.response) for row in PerTurn(open_dataset([{"turns": messages}])).samples()]
    [('1-1', 'b'), ('1-2', 'd')]
    """

    conversations: Dataset

    @property
    def name(self) -> str:
        """The name of the conversations, for messages and the signature."""
        return self.conversations.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the rows in order."""
        for sample in self.conversations.samples(on_reject=on_reject, on_columns=on_columns):
            yield from turn_rows(sample)


def expand(dataset: Dataset, *, per_turn: bool, repeat: int = 1, repeat_judge: int = 1) -> Dataset:
    """Return the dataset with a row for each turn, for each answer to it and each judgement of an answer."""
    if per_turn:
        dataset = PerTurn(dataset)
    return dataset if repeat == repeat_judge == 1 else RepeatedDataset(dataset, repeat, repeat_judge)
