"""What came of one question: its answer, its scores, and the flat record that applications keep of them."""

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
from sgi.kernel.short_repr import short_repr
from sgi.store.evals_columns import METRICS, REASONED, REASONING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sgi.engine.resources import Resources
    from sgi.engine.score import BatchScores
    from sgi.engine.summary import Summary
    from sgi.kernel.metric import AnyMetric
    from sgi.store.database import Database
    from sgi.store.evaluations import MetricScore, StoredEvaluation
    from sgi.store.growing_runs import EvaluationRow

RELEVANCE, RATED = "answer_relevance", "answer_relevance_rated"
"""The column of the published record, and the metric it holds where there is that, as in the view."""

_NO_VALUE = "no value was given"


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of one question.

    Attributes:
        reference: the expected answer, if any.
        answer: the scored answer; None if the target gave none.
        contexts: the passages; None if unknown.
        scores: by the metric's canonical string: ``value``, ``status``, ``reason`` and ``details``.
        seconds: time of the target, retries included; 0 if it was not asked.
        reason: why there is no answer.
        embedders: fingerprints of the models, also of those that returned no vectors.
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
        """The flat record: a key for each metric, ``answer``, reasonings, and ``reasons`` for None values.

        >>> record = Evaluation("Who?", None, None, None, {}, reason="no answer within 60 s").to_dict()
        >>> record["answer"], record["semantic_similarity"], record["reasons"]
        (None, None, {'answer': 'no answer within 60 s'})
        """
        return _flat(self.scores, self.answer) | {"reasons": _reasons(self.scores, self.reason)}


def scores_of_row(
    metrics: Iterable[AnyMetric], batch_scores: BatchScores, resources: Resources | None = None
) -> dict[str, MetricScore]:
    """The scores of a batch's only row, by canonical string, with evidence and with what computed them."""
    from sgi.store.evaluations import MetricScore

    found = {}
    for metric in metrics:
        scores = batch_scores.scores[metric.canonical]
        (said,) = batch_scores.evidence.get(metric.canonical, (None,))
        status = Status(str(scores.status[0]))
        value = float(scores.values[0]) if status is Status.OK else None
        found[metric.canonical] = MetricScore(
            value,
            status,
            scores.reasons[0],
            dict(scores.details[0]),
            spec=metric.spec,
            provenance=None if resources is None else resources.provenance(metric),
            evidence={} if said is None else said.model_dump(mode="json"),
        )
    return found


def given_scores(
    values: Mapping[str, Any], known: Mapping[str, MetricScore] | None = None
) -> dict[str, MetricScore]:
    """Scores from plain values: numbers by metric, and reasonings of a judge by ``metric_reasoning``.

    None is ``missing``; NaN and infinity are ``failed``. ``known`` has the scores of metrics without a value.

    Raises:
        UnknownNameError: a column does not exist.
        UsageError: a value is not a number, or a reasoning is not a text.

    >>> given_scores({"bleu": float("nan")})["bleu"].reason
    'the value given is nan, which is no score'
    """
    scores = dict(known or {})
    for name, value in values.items():
        _check_column(name)
        if not name.endswith(REASONING):
            scores[name] = _score(name, value)
    for name, value in values.items():
        if name.endswith(REASONING) and value is not None:
            if not isinstance(value, str):
                raise UsageError(f"{name} is a text, not {type(value).__name__}.")
            metric = name.removesuffix(REASONING)
            scores[metric] = replace(scores.get(metric) or _score(metric, None), reasoning=value)
    return scores


def evaluation_row(
    qa_pair_id: str,
    evaluation: Evaluation | None,
    texts: Mapping[str, Any],
    values: Mapping[str, Any],
) -> EvaluationRow:
    """The stored form of an evaluation; ``texts`` that are not None replace those of the evaluation."""
    from sgi.store.growing_runs import EvaluationRow
    from sgi.store.samples import StoredAnswer

    kept = evaluation or Evaluation("", None, None, None, {})
    given = {name: value for name, value in texts.items() if value is not None}
    text = text_or_none("answer", given.pop("answer", None))
    if text is not None:
        kept = replace(kept, answer=text, reason="", seconds=0.0)
    known: dict[str, Any] = {} if evaluation is None else {"question": kept.question}
    known |= {"reference": kept.reference, "contexts": kept.contexts, **given}
    found = {name: text_or_none(name, value) for name, value in known.items() if name != "contexts"}
    told_of_models = {"truncated": list(kept.truncated), "left_out": dict(kept.left_out)}
    sample = Sample.model_validate(
        {
            "id": qa_pair_id,
            **found,
            "contexts": passages(known["contexts"]),
            "metadata": {name: text for name, text in told_of_models.items() if text} or None,
        }
    )
    answer = None
    if kept.answer is not None or kept.reason:
        answer = StoredAnswer(kept.answer, reason=kept.reason or None, seconds=kept.seconds)
    return EvaluationRow(sample, answer, given_scores(values, kept.scores), kept.embedders, kept.judge)


def require_value(name: str, value: object) -> str:
    """The text; anything else is a UsageError that names the argument."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is a text, not {type(value).__name__}.")
    return value


def text_or_none(name: str, value: object) -> str | None:
    """The text, or None; anything else is a UsageError that names the argument."""
    return None if value is None else require_value(name, value)


def passages(contexts: Iterable[str] | None) -> tuple[str, ...] | None:
    """The passages as a tuple; a single text is one passage.

    >>> passages("Emma is a novel."), passages([])
    (('Emma is a novel.',), ())
    """
    if contexts is None:
        return None
    listed = (contexts,) if isinstance(contexts, str) else tuple(contexts)
    return tuple(require_value("contexts", passage) for passage in listed)


def short_record(stored_evaluation: StoredEvaluation) -> dict[str, Any]:
    """A stored row as a flat record: ids, metrics, answer, reasonings."""
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
    """A stored row with all that is known of it."""
    given = stored_evaluation.sample.model_fields_set
    return short_record(stored_evaluation) | {
        "question": stored_evaluation.sample.question if "question" in given else None,
        "reference": stored_evaluation.sample.reference,
        "contexts": list(stored_evaluation.sample.contexts) if "contexts" in given else None,
        "reasons": _reasons(stored_evaluation.scores, stored_evaluation.reason),
        "details": {
            name: dict(score.details) for name, score in stored_evaluation.scores.items() if score.details
        },
    }


def _flat(scores: Mapping[str, MetricScore], answer: str | None) -> dict[str, Any]:
    """The columns of document 003, whose answer relevance is the rated one, and every other metric."""
    rated = scores.get(RATED)
    if rated is not None:
        scores = {**scores, RELEVANCE: rated}
    values = dict.fromkeys(METRICS) | {name: score.value for name, score in scores.items()}
    said = {f"{name}{REASONING}": score.reasoning for name, score in scores.items() if score.reasoning}
    return values | {"answer": answer} | dict.fromkeys(f"{name}{REASONING}" for name in REASONED) | said


def _reasons(scores: Mapping[str, MetricScore], of_answer: str) -> dict[str, str]:
    reasons = {name: score.reason for name, score in scores.items() if score.reason}
    return reasons | ({"answer": of_answer} if of_answer else {})


def _check_column(name: str) -> None:
    known = [*dict.fromkeys([*METRICS, *metric_names()])]
    if name.removesuffix(REASONING) not in known:
        near = tuple(difflib.get_close_matches(name, known, n=2))
        hint = "A column is a metric's name, or one with _reasoning after it."
        raise UnknownNameError("column of an evaluation", name, near, hint=hint)


def _score(name: str, value: Any) -> MetricScore:
    from sgi.store.evaluations import MetricScore

    if value is None:
        return MetricScore(None, Status.MISSING, _NO_VALUE)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name} is a number or None, not {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        return MetricScore(None, Status.FAILED, f"the value given is {number}, which is no score")
    return MetricScore(number)


def finish(database: Database, name: str) -> Summary:
    """Sum up what was saved and close the run; to be called when nobody saves into it any more."""
    from sgi.engine.summarise import growing_summary  # these load the database, which a service may not need
    from sgi.store.growing_runs import finish_growing
    from sgi.store.run_queries import list_runs

    runs = list_runs(database)
    record = next((run for key in ("name", "id") for run in runs if getattr(run, key) == name), None)
    if record is None:
        raise UnknownNameError("run", name, hint="`sgi runs` lists them.")
    summary = growing_summary(database, record)
    finish_growing(database, name, summary.to_dict())
    return summary
