"""Hugging Face: a metric for ``evaluate``, and a function for ``Dataset.map``.

``evaluate.load`` takes the path of this file. It looks for imports with a regular expression, so each import
of this module is on one line.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, Unpack

import orjson

from sgi.integrations.adapter import score_rows, shared_scorer
from sgi.integrations.average import average
from sgi.kernel.errors import UsageError, require_extra
from sgi.kernel.signature import package_version

with require_extra("sgi.integrations.huggingface", "huggingface"):
    import datasets
    import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.engine.open_resources import EmbedderLike
    from sgi.kernel.metric import AnyMetric, Score
    from sgi.service.scorer import ScorerOptions

_FIELDS = {
    "predictions": "response",
    "references": "reference",
    "questions": "question",
    "contexts": "contexts",
}
_SETTINGS = signature(evaluate.Metric.__init__).parameters.keys()
_DESCRIPTION = (
    "Scores answers of retrieval-augmented generation with metrics of the Semantic Grounding Index."
)
_INPUTS = """
Args:
    predictions: the responses.
    references: the expected answers; a list for an answer with alternatives.
    questions: the questions.
    contexts: the retrieved passages of each response.
"""


class ScoreRows:
    """Function for ``Dataset.map`` with ``batched=True``: adds the scores of each row as columns.

    The columns are ``METRIC``, None without a value, ``METRIC_status``, and ``METRIC_reason``, empty with a
    value. Pass ``features=score.features(dataset)``: ``map`` cannot know the type of a column if its first
    rows have no value.

    Args:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        columns: field → column, if the columns' names are not recognised.
        options: further arguments of `sgi.Scorer`, such as ``judge``.
    """

    def __init__(
        self,
        metrics: str | AnyMetric | Sequence[str | AnyMetric],
        embedder: EmbedderLike | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        **options: Unpack[ScorerOptions],
    ) -> None:
        self._arguments = (metrics, embedder, columns)
        self._options = options
        self.metrics = shared_scorer(*self._arguments, **self._options).metrics
        self.version = package_version()  # so that another version does not use the cache of `map`

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return the scores of a batch as columns."""
        if any(isinstance(column, str) for column in batch.values()):
            raise UsageError("`ScoreRows` scores batches of rows.", hint="Call `map` with `batched=True`.")
        rows = [dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)]
        # Opened here: `map` copies this object to other processes.
        scores = score_rows(shared_scorer(*self._arguments, **self._options), rows)
        return {name: column for metric in self.metrics for name, column in _columns(metric, scores).items()}

    def features(self, dataset: datasets.Dataset) -> datasets.Features:
        """Return the types of the columns of the dataset with its scores."""
        types = {"": "float64", "_status": "string", "_reason": "string"}
        added = {
            f"{metric}{end}": datasets.Value(kind) for metric in self.metrics for end, kind in types.items()
        }
        return datasets.Features({**dataset.features, **added})


def _columns(metric: str, scores: Sequence[Mapping[str, Score]]) -> dict[str, list[Any]]:
    return {
        metric: [row[metric].value for row in scores],
        f"{metric}_status": [row[metric].status.value for row in scores],
        f"{metric}_reason": [row[metric].reason for row in scores],
    }


class SgiMetric(evaluate.Metric):  # type: ignore[misc]  # the base has no types where we check ours
    """Metric of ``evaluate``: the mean of each metric beside its coverage, and the scores of the rows.

    ``compute`` takes ``predictions``, ``references``, ``questions`` and ``contexts``, of which the metrics
    need some. None is a field that is not given; a blank text is data. It returns ``METRIC``, the mean over
    the rows with a value or None, ``METRIC_coverage``, the share of rows with a value, and ``METRIC_values``,
    ``METRIC_statuses`` and ``METRIC_reasons``, a list each.

    Args:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        options: further arguments of `evaluate.Metric` and of `sgi.Scorer`, such as ``judge``.
    """

    def __init__(
        self,
        config_name: str | None = None,
        *,
        metrics: str | AnyMetric | Sequence[str | AnyMetric] = "grounding",
        embedder: EmbedderLike | None = None,
        **options: Any,
    ) -> None:
        settings = {name: options.pop(name) for name in _SETTINGS & options.keys()}
        super().__init__(config_name, **settings)
        self._scorer = shared_scorer(metrics, embedder, **options)

    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Add rows; a column that is None or absent is not given."""
        columns = _inputs(predictions=predictions, references=references, **inputs)
        rows = max((len(column) for column in columns.values() if column is not None), default=0)
        cells = {name: [None] * rows if column is None else column for name, column in columns.items()}
        batch = {name: [_encode(name, cell) for cell in column] for name, column in cells.items()}
        evaluate.Metric.add_batch(self, **batch)

    def add(self, *, prediction: Any = None, reference: Any = None, **inputs: Any) -> None:
        """Add one row; the inputs are ``question`` and ``contexts``."""
        given = {
            "predictions": prediction,
            "references": reference,
            "questions": inputs.pop("question", None),
        }
        self.add_batch(**{name: [value] for name, value in (given | inputs).items()})

    def compute(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> Any:
        """Score the rows that were given or added; return means, coverages and the scores of the rows."""
        columns = _inputs(predictions=predictions, references=references, **inputs)
        return evaluate.Metric.compute(self, **columns)

    def _info(self) -> evaluate.MetricInfo:
        # JSON, since `evaluate` refuses None for texts, and writes numbers and objects as texts.
        types = {name: datasets.Value("large_string") for name in _FIELDS}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="Semantic Grounding Index, arXiv:2512.13771",
            inputs_description=_INPUTS,
            features=datasets.Features(types),
        )

    def _compute(self, **columns: Any) -> dict[str, Any]:
        names = [_FIELDS[name] for name in columns]
        rows = [
            dict(zip(names, map(orjson.loads, values), strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
        scores = score_rows(self._scorer, rows)
        results: dict[str, Any] = {}
        for metric in self._scorer.metrics:
            values = [row[metric].value for row in scores]
            averaged = average(metric, values)
            results |= {
                metric: averaged.mean,
                f"{metric}_coverage": averaged.coverage,
                f"{metric}_values": values,
                f"{metric}_statuses": [row[metric].status.value for row in scores],
                f"{metric}_reasons": [row[metric].reason for row in scores],
            }
        return results


def _inputs(**columns: Any) -> dict[str, Any]:
    """Return all inputs; None for those that are not given."""
    if unknown := sorted(columns.keys() - _FIELDS.keys()):
        raise UsageError(
            f"{unknown[0]!r} is not an input of this metric.", hint=f"The inputs: {', '.join(_FIELDS)}."
        )
    if texts := [name for name, column in columns.items() if isinstance(column, str)]:
        raise UsageError(f"The input {texts[0]} is one text.", hint="Give a list with one item for each row.")
    return dict.fromkeys(_FIELDS) | columns


def _encode(name: str, cell: Any) -> str:
    try:
        return orjson.dumps(cell, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    except TypeError as error:
        raise UsageError(f"A value of {name} is not text, a list of texts, or None: {error}.") from None
