"""The evaluation of one question, and the flat records that applications read."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.metric import Status
from sgi.kernel.registry import metric_names
from sgi.kernel.sample import Sample
from sgi.kernel.short_text import short_repr
from sgi.store.evals_table import METRICS, RATED, REASONED, REASONING, RELEVANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sgi.engine.resources import Resources
    from sgi.engine.score import BatchScores
    from sgi.engine.summary import Summary
    from sgi.kernel.metric import AnyMetric
    from sgi.store.database import Database
    from sgi.store.evaluations import MetricScore, StoredEvaluation
    from sgi.store.growing_runs import EvaluationRow

_NO_VALUE = "no value was given"


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of one question.

    Attributes:
        reference: the expected answer; None if unknown.
        answer: the scored answer; None if the target gave none.
        contexts: the passages; None if unknown.
        scores: ``value``, ``status``, ``reason`` and ``details`` by the metric's canonical string.
        seconds: response time of the target, with retries; 0 if it was not asked.
        reason: why there is no answer; empty if there is one.
        embedders: fingerprints of the embedding models, also of those that returned no vectors.
        judge: fingerprint of the judge, with the digest of the prompts; empty without judged metrics.
        truncated: the fields that exceed a model's limit.
        left_out: the models that returned no vectors, with the reason.
    """

    question: str
    reference: str | None
    answer: str | None
    contexts: tuple[str, ...] | None
    scores: Mapping[str, MetricScore]
    seconds: float = 0.0
    reason: str = ""
    embedders: tuple[str, ...] = ()
    judge: str = ""
    truncated: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Convert to a flat record: ``answer``, one key per metric, reasonings, ``reasons`` of None values.

        >>> record = Evaluation("Who?", None, None, None, {}, reason="no answer within 60 s").to_dict()
        >>> record["answer"], record["semantic_similarity"], record["reasons"]
        (None, None, {'answer': 'no answer within 60 s'})
        """
        return _flat(self.scores, self.answer) | {"reasons": _reasons(self.scores, self.reason)}


def scores_of_row(
    metrics: Iterable[AnyMetric], batch_scores: BatchScores, resources: Resources
) -> dict[str, MetricScore]:
    """Return the scores of a batch of one row, by canonical string, with judgements and provenance."""
    from sgi.store.evaluations import MetricScore

    row_scores = {}
    for metric in metrics:
        score = batch_scores.scores[metric.canonical].row(0)
        (judgement,) = batch_scores.evidence.get(metric.canonical, (None,))
        row_scores[metric.canonical] = MetricScore(
            **vars(score),
            spec=metric.spec,
            provenance=resources.provenance(metric),
            evidence={} if judgement is None else judgement.model_dump(mode="json"),
        )
    return row_scores


def parse_scores(
    values: Mapping[str, Any], known: Mapping[str, MetricScore] | None = None
) -> dict[str, MetricScore]:
    """Return scores from plain values: numbers by metric, and reasonings of a judge by ``metric_reasoning``.

    None gets the status ``missing``; NaN and infinity get ``failed``. ``known`` has scores for metrics that
    are not in the values.

    Raises:
        UnknownNameError: a column does not exist.
        UsageError: a value is not a number, or a reasoning is not a text.

    >>> parse_scores({"bleu": float("nan")})["bleu"].reason
    'the value is nan'
    """
    scores = dict(known or {})
    for name, value in values.items():
        _check_column(name)
        if not name.endswith(REASONING):
            scores[name] = _score(name, value)
    for name, value in values.items():
        if name.endswith(REASONING) and value is not None:
            if not isinstance(value, str):
                raise UsageError(f"`{name}` must be a text, not {type(value).__name__}.")
            metric = name.removesuffix(REASONING)
            scores[metric] = replace(scores.get(metric) or _score(metric, None), reasoning=value)
    return scores


def evaluation_row(
    qa_pair_id: str,
    evaluation: Evaluation | None,
    texts: Mapping[str, Any],
    values: Mapping[str, Any],
) -> EvaluationRow:
    """Convert an evaluation to a stored row; ``texts`` other than None replace those of the evaluation."""
    from sgi.store.growing_runs import EvaluationRow
    from sgi.store.samples import StoredAnswer

    stored = evaluation or Evaluation("", None, None, None, {})
    changes = {name: value for name, value in texts.items() if value is not None}
    answer_text = text_or_none("answer", changes.pop("answer", None))
    if answer_text is not None:
        stored = replace(stored, answer=answer_text, reason="", seconds=0.0)
    fields: dict[str, Any] = {} if evaluation is None else {"question": stored.question}
    fields |= {"reference": stored.reference, "contexts": stored.contexts, **changes}
    field_texts = {name: text_or_none(name, value) for name, value in fields.items() if name != "contexts"}
    models = {"truncated": list(stored.truncated), "left_out": dict(stored.left_out)}
    sample = Sample.model_validate(
        {
            "id": qa_pair_id,
            **field_texts,
            "contexts": passages(fields["contexts"]),
            "metadata": {name: value for name, value in models.items() if value} or None,
        }
    )
    answer = None
    if stored.answer is not None or stored.reason:
        answer = StoredAnswer(stored.answer, reason=stored.reason or None, seconds=stored.seconds)
    return EvaluationRow(sample, answer, parse_scores(values, stored.scores), stored.embedders, stored.judge)


def require_value(name: str, value: object) -> str:
    """Return the text; raises UsageError for any other type."""
    if not isinstance(value, str):
        raise UsageError(f"`{name}` must be a text, not {type(value).__name__}.")
    return value


def text_or_none(name: str, value: object) -> str | None:
    """Return the text, or None; raises UsageError for any other type."""
    return None if value is None else require_value(name, value)


def passages(contexts: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the passages as a tuple; a single text is one passage.

    >>> passages("Emma is a novel."), passages([])
    (('Emma is a novel.',), ())
    """
    if contexts is None:
        return None
    several = (contexts,) if isinstance(contexts, str) else contexts
    return tuple(require_value("contexts", passage) for passage in several)


def short_record(stored_evaluation: StoredEvaluation) -> dict[str, Any]:
    """Return a stored row as a flat record: ids, metrics, answer, reasonings."""
    answer = (
        stored_evaluation.sample.response if "response" in stored_evaluation.sample.model_fields_set else None
    )
    ids = {
        "id": stored_evaluation.id,
        "test_run_id": stored_evaluation.run,
        "qa_pair_id": stored_evaluation.sample.id,
    }
    return {
        **ids,
        **_flat(stored_evaluation.scores, answer),
        **ids,
    }  # ids first, and whatever a metric is called


def full_record(stored_evaluation: StoredEvaluation) -> dict[str, Any]:
    """Return a stored row as a flat record with its texts, reasons and details."""
    fields = stored_evaluation.sample.model_fields_set
    return short_record(stored_evaluation) | {
        "question": stored_evaluation.sample.question if "question" in fields else None,
        "reference": stored_evaluation.sample.reference,
        "contexts": list(stored_evaluation.sample.contexts) if "contexts" in fields else None,
        "reasons": _reasons(stored_evaluation.scores, stored_evaluation.reason),
        "details": {
            name: dict(score.details) for name, score in stored_evaluation.scores.items() if score.details
        },
    }


def _flat(scores: Mapping[str, MetricScore], answer: str | None) -> dict[str, Any]:
    """Return the flat record's columns, and other metrics; answer relevance is the judge's rating."""
    rated = scores.get(RATED)
    if rated is not None:
        scores = {**scores, RELEVANCE: rated}
    values = dict.fromkeys(METRICS) | {name: score.value for name, score in scores.items()}
    reasonings = {f"{name}{REASONING}": score.reasoning for name, score in scores.items() if score.reasoning}
    return values | {"answer": answer} | dict.fromkeys(f"{name}{REASONING}" for name in REASONED) | reasonings


def _reasons(scores: Mapping[str, MetricScore], of_answer: str) -> dict[str, str]:
    reasons = {name: score.reason for name, score in scores.items() if score.reason}
    return reasons | ({"answer": of_answer} if of_answer else {})


def _check_column(name: str) -> None:
    known = [*dict.fromkeys([*METRICS, *metric_names()])]
    if name.removesuffix(REASONING) not in known:
        near = tuple(difflib.get_close_matches(name, known, n=2))
        hint = "A column is the name of a metric, or that name followed by _reasoning."
        raise UnknownNameError("column of an evaluation", name, near, hint=hint)


def _score(name: str, value: Any) -> MetricScore:
    from sgi.store.evaluations import MetricScore

    if value is None:
        return MetricScore(None, Status.MISSING, _NO_VALUE)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"`{name}` must be a number or None, not {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        return MetricScore(None, Status.FAILED, f"the value is {number}")
    return MetricScore(number)


def finish(database: Database, name: str) -> Summary:
    """Close a run, and store its summary."""
    from sgi.engine.run import summary_of_columns  # these load the database, which a service may not need
    from sgi.engine.stored_runs import read_run
    from sgi.store.growing_runs import finish_growing
    from sgi.store.run_queries import list_runs

    runs = list_runs(database)
    record = next((run for key in ("name", "id") for run in runs if getattr(run, key) == name), None)
    if record is None:
        raise UnknownNameError("run", name, hint=f"`sgi runs` lists the runs of {database.shown}.")
    summary = summary_of_columns(read_run(database, record))
    finish_growing(database, name, summary.to_dict())
    return summary
