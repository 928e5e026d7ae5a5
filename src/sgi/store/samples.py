"""Convert samples and answers of the target to table rows and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from pydantic import ValidationError

from sgi.kernel.parsing import first_problem
from sgi.kernel.sample import FURTHER_FIELDS, Sample
from sgi.kernel.sample_parts import NO_COSTS, NO_RANKING, AnswerCosts, Ranking
from sgi.store import schema
from sgi.store.bulk_rows import decode_text, encode_json, encode_text
from sgi.store.database_location import damaged_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TEXTS = ("question", "response", "reference")
_OTHERS = tuple(name for name in Sample.model_fields if name not in {"id", *_TEXTS})
_NO_FURTHER = (None,) * len(FURTHER_FIELDS)
_ANSWER = ("run", "response", "contexts", "reason", *AnswerCosts._fields, *Ranking._fields)


@dataclass(frozen=True)
class StoredAnswer:
    """The answer of the target for a sample: a response, or the reason for a failure.

    ``contexts`` are the passages that the target returned, if any; ``ranking`` has their ids and scores.
    ``seconds`` is the time until the response with retries and waits; ``costs`` has the latency without them.
    """

    response: str | None
    contexts: tuple[str, ...] | None = None
    reason: str | None = None
    seconds: float = 0.0
    costs: AnswerCosts = NO_COSTS
    ranking: Ranking = NO_RANKING


def sample_row(dataset: str, position: int, sample: Sample) -> tuple[Any, ...]:
    """Convert a sample for the table ``samples``: values for the driver, in column order, JSON as text.

    NULL marks an absent field, which differs from a blank one.
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
        *_further_values(sample),
    )


def _further_values(sample: Sample) -> Iterable[Any]:
    if not (values := sample.further_values()):
        return _NO_FURTHER
    columns = map(values.get, FURTHER_FIELDS)
    return (encode_json(value) if isinstance(value, (list, dict)) else value for value in columns)


_FAILED_ANSWERS = sa.delete(schema.answers).where(
    schema.answers.c.run == sa.bindparam("of_run"),
    schema.answers.c.position.in_(sa.bindparam("positions", expanding=True)),
    schema.answers.c.response.is_(None),
)
"""Built once, since a run with a target executes it for each answer."""


def delete_failed_answers(connection: sa.Connection, run: str, positions: Iterable[int]) -> None:
    """Delete the failures of the target at these positions of a run."""
    connection.execute(_FAILED_ANSWERS, {"of_run": run, "positions": list(positions)})


def answer_row(run: str, position: int, answer: StoredAnswer) -> tuple[Any, ...]:
    """Convert an answer for the table ``answers``, as values for the driver."""
    response = None if answer.response is None else encode_text(answer.response)
    contexts = None if answer.contexts is None else encode_json(list(answer.contexts))
    reason = None if answer.reason is None else encode_text(answer.reason)
    ranking = (None if values is None else encode_json(list(values)) for values in answer.ranking)
    return run, position, response, contexts, reason, answer.seconds, *answer.costs, *ranking


def answer_of(row: sa.Row[Any]) -> StoredAnswer:
    """Convert a row of the table ``answers``."""
    return StoredAnswer(
        response=None if row.response is None else decode_text(row.response),
        contexts=None if row.contexts is None else tuple(row.contexts),
        reason=None if row.reason is None else decode_text(row.reason),
        seconds=row.seconds,
        costs=AnswerCosts(*(getattr(row, name) for name in AnswerCosts._fields)),
        ranking=_ranking(row.context_ids, row.context_scores),
    )


def answered_samples(run: str, dataset: str) -> sa.Select[Any]:
    """Select the samples of a dataset, with the target's answers in a run in columns ``answer_…``."""
    samples = schema.samples
    columns = (schema.answers.c[name].label(f"answer_{name}") for name in _ANSWER)
    return sa.select(samples, *columns).select_from(with_answers(run)).where(samples.c.dataset == dataset)


def with_answers(run: str) -> sa.FromClause:
    """Join the samples with the answers of the target in a run."""
    samples, answers = schema.samples, schema.answers
    return samples.outerjoin(answers, (answers.c.run == run) & (answers.c.position == samples.c.position))


def shown_response() -> sa.ColumnElement[Any]:
    """Select the response of a row of `with_answers`: the response of the target if it was called."""
    answers = schema.answers
    return sa.case((answers.c.run.is_(None), schema.samples.c.response), else_=answers.c.response)


def passages() -> sa.ColumnElement[Any]:
    """Select a row's passages; passages that a target returned replace the passages of the data."""
    answers = schema.answers
    returned = (answers.c.contexts, answers.c.context_ids, answers.c.context_scores)
    return sa.case(
        (sa.or_(*(column.is_not(None) for column in returned)), answers.c.contexts),
        else_=schema.samples.c.contexts,
    )


def sample_of(row: Mapping[str, Any]) -> Sample:
    """Convert a row of the table ``samples``, or of `answered_samples`, which has the target's answer."""
    given = {name: row[name] for name in (*_TEXTS, *_OTHERS) if row[name] is not None}
    texts = {name: decode_text(given[name]) for name in _TEXTS if name in given}
    try:
        sample = Sample(id=decode_text(row["id"]), **(given | texts))
    except ValidationError as errors:
        raise damaged_error(f"a sample: {first_problem(errors)}") from errors
    if row.get("answer_run") is None:
        return sample
    response, contexts = row["answer_response"], row["answer_contexts"]
    return sample.with_response(
        None if response is None else decode_text(response),
        None if contexts is None else tuple(contexts),
        AnswerCosts(*(row[f"answer_{name}"] for name in AnswerCosts._fields)),
        _ranking(row["answer_context_ids"], row["answer_context_scores"]),
    )


def _ranking(ids: list[str] | None, scores: list[float] | None) -> Ranking:
    return Ranking(None if ids is None else tuple(ids), None if scores is None else tuple(scores))
