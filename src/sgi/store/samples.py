"""Convert samples and answers of the target to table rows and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.kernel.sample import Sample
from sgi.store import schema
from sgi.store.text_codec import decode_text, encode_json, encode_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXTS = ("question", "response", "reference")
_OTHERS = ("contexts", "alternatives", "label", "metadata")
_ANSWER = ("run", "response", "contexts", "reason")


@dataclass(frozen=True)
class StoredAnswer:
    """What the target returned for a sample: a response, or the reason for a failure.

    ``contexts`` are the passages that the target used, if it returned any. ``seconds`` includes retries and
    waits.
    """

    response: str | None
    contexts: tuple[str, ...] | None = None
    reason: str | None = None
    seconds: float = 0.0


def sample_row(dataset: str, position: int, sample: Sample) -> tuple[Any, ...]:
    """Convert a sample for the table ``samples``: values for the driver, in column order, JSON as text.

    NULL marks an absent field, which differs from a blank one.

    >>> sample_row("d", 0, Sample(id="1", question="", contexts=("a",)))[4:7]
    ('', '["a"]', None)
    """
    given = sample.model_fields_set
    return (
        dataset,
        position,
        encode_text(sample.id),
        sample.cluster(position),
        encode_text(sample.question) if "question" in given else None,
        encode_json(sample.contexts) if "contexts" in given else None,
        encode_text(sample.response) if "response" in given else None,
        None if sample.reference is None else encode_text(sample.reference),
        encode_json(sample.alternatives) if "alternatives" in given else None,
        sample.label,
        encode_json(sample.metadata) if "metadata" in given else None,
    )


def answer_row(run: str, position: int, answer: StoredAnswer) -> tuple[Any, ...]:
    """Convert an answer for the table ``answers``, as values for the driver."""
    response = None if answer.response is None else encode_text(answer.response)
    contexts = None if answer.contexts is None else encode_json(list(answer.contexts))
    reason = None if answer.reason is None else encode_text(answer.reason)
    return run, position, response, contexts, reason, answer.seconds


def answer_of(row: sa.Row[Any]) -> StoredAnswer:
    """Convert a row of the table ``answers``."""
    return StoredAnswer(
        response=None if row.response is None else decode_text(row.response),
        contexts=None if row.contexts is None else tuple(row.contexts),
        reason=None if row.reason is None else decode_text(row.reason),
        seconds=row.seconds,
    )


def answered_samples(run: str, dataset: str) -> sa.Select[Any]:
    """Select the samples of a dataset, with the target's answers in a run in columns ``answer_…``."""
    samples, answers = schema.samples, schema.answers
    answered = (answers.c.run == run) & (answers.c.position == samples.c.position)
    return (
        sa.select(samples, *(answers.c[name].label(f"answer_{name}") for name in _ANSWER))
        .select_from(samples.outerjoin(answers, answered))
        .where(samples.c.dataset == dataset)
    )


def sample_of(row: Mapping[str, Any]) -> Sample:
    """Convert a row of the table ``samples``, or of `answered_samples`, which has the target's answer.

    >>> absent = dict.fromkeys(schema.samples.columns.keys())
    >>> sorted(sample_of(absent | {"id": "1", "response": "", "contexts": ["a"]}).model_fields_set)
    ['contexts', 'id', 'response']
    """
    given = {name: row[name] for name in (*_TEXTS, *_OTHERS) if row[name] is not None}
    texts = {name: decode_text(given[name]) for name in _TEXTS if name in given}
    sample = Sample(id=decode_text(row["id"]), **(given | texts))
    if row.get("answer_run") is None:
        return sample
    response, contexts = row["answer_response"], row["answer_contexts"]
    return sample.with_response(
        None if response is None else decode_text(response), None if contexts is None else tuple(contexts)
    )
