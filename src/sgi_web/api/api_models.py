"""Pydantic models of the JSON API; they validate requests and describe responses in OpenAPI."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from inspect import getdoc
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema, create_model

from sgi.analysis.compare import Comparison
from sgi.analysis.leaderboard_result import Leaderboard
from sgi.engine.plan import BATCH_SIZE
from sgi.engine.summary import MetricSummary
from sgi.kernel.details import details_schema
from sgi.kernel.metric import Status
from sgi.kernel.registry import BUILT_IN, metric_class
from sgi.kernel.sample_parts import Amount, Citation, Grade, RetrievalScore, Role, TokenCount
from sgi.reporting.leaderboard_view import LeaderboardView
from sgi.reporting.views.comparison import ComparisonView
from sgi.reporting.views.headline import Headline
from sgi.reporting.views.row_view import SampleView
from sgi.reporting.views.run_header import State
from sgi.service.guard import GuardCounts, OnError
from sgi.stats.confounds import Baseline
from sgi.stats.intervals import Interval
from sgi.stats.paired_tests import McNemar, PairedDifference
from sgi.stats.ranking import Ranking
from sgi.store.row_query import RowPage, RowQuery
from sgi.store.run_queries import RunRecord
from sgi_traces.live.trace_counts import TraceStatus

MAX_METRICS = 16
"""Maximum metrics of a request."""

MAX_TEXT = 200_000
"""Maximum characters of a text. No model reads more, and comparing words takes quadratic time."""

MAX_PASSAGES = 256
"""Maximum passages of a row, and maximum further answers."""

MAX_ANSWER = 20_000
"""Maximum characters of an answer for the guard, which scores each sentence: 6 s with 20 long passages."""

MAX_QUESTION = 2000
"""Maximum characters of a question for the guard."""

MAX_ID = 1000
"""Maximum characters of an id."""

_MAX_NAME = 200
_STATISTICS = (Baseline, Interval, McNemar, PairedDifference, Ranking)
_VIEWS = (Comparison, Leaderboard, MetricSummary, RowQuery, RunRecord, SampleView, Status)
_NAMES: dict[str, type] = {kind.__name__: kind for kind in (Mapping, Sequence, *_STATISTICS, *_VIEWS)}
"""Types in annotations of views that their modules import only for type checkers."""

_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


T = TypeVar("T")
Listed = Annotated[list[T], Field(max_length=MAX_PASSAGES)]
Text = Annotated[str, Field(max_length=MAX_TEXT)]
PassageId = Annotated[str, Field(max_length=MAX_ID)]
Texts = Listed[Text]
Ids = Listed[PassageId]
RowId = Annotated[PassageId, Field(pattern=r"\S")]


class Message(BaseModel):
    """A message of a conversation."""

    model_config = ConfigDict(extra="forbid", strict=True)

    role: Role = Field(description="Who wrote it.")
    text: Text = Field(description="Its text.")
    contexts: Texts = Field([], description="The passages that were retrieved for it.")


class Row(BaseModel):
    """A question with its passages and its response. A null field counts as missing."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: RowId | int | None = Field(None, description="Id of the row. Default: its number, from 1.")
    question: Text | None = Field(None, description="The question.")
    contexts: Text | Texts | None = Field(None, description="The retrieved passages, best first.")
    response: Text | None = Field(None, description="The response to score.")
    reference: Text | Texts | None = Field(None, description="The expected answer, or all accepted ones.")
    alternatives: Texts | None = Field(None, description="Further accepted answers.")
    label: bool | None = Field(None, description="Label of the row.")
    context_ids: Ids | None = Field(None, description="Ids of the retrieved passages, best first.")
    context_scores: Listed[RetrievalScore] | None = Field(None, description="Their retrieval scores.")
    gold_ids: Ids | None = Field(None, description="Ids of the gold passages.")
    relevance: dict[PassageId, Grade] | list[Grade] | None = Field(None, description="Grades by gold id.")
    gold_passages: Texts | None = Field(None, description="Texts of the gold passages.")
    citations: Listed[Citation] | None = Field(None, description="The citations of the response.")
    answerable: bool | None = Field(None, description="Whether the data can answer the question.")
    turns: Listed[Message] | None = Field(None, description="The conversation, in order.")
    latency_ms: Amount | None = Field(None, description="Time that the answer took, in milliseconds.")
    prompt_tokens: TokenCount | None = Field(None, description="Tokens that the language models read.")
    completion_tokens: TokenCount | None = Field(None, description="Tokens that they wrote.")
    cost: Amount | None = Field(None, description="Cost of the answer in US dollars.")
    metadata: dict[str, JsonValue] | None = Field(None, description="Other data. It does not affect scores.")


MetricName = Annotated[str, Field(min_length=1, max_length=_MAX_NAME)]


class ScoreRequest(BaseModel):
    """Rows to score."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rows: list[Row] = Field(min_length=1, max_length=BATCH_SIZE, description="The rows.")
    metrics: Annotated[list[MetricName], Field(min_length=1, max_length=MAX_METRICS)] | None = Field(
        None,
        description="Metrics that need no judge. Default: those of `sgi run` whose fields the rows have.",
    )
    details: bool = Field(default=False, description="Whether to return how each value was computed.")


def _details_schemas() -> dict[str, Any]:
    """Return the JSON schemas of the details of all built-in metrics."""
    kinds = dict.fromkeys(metric_class(name).spec.details for name in BUILT_IN)
    return {"anyOf": [details_schema(kind) for kind in kinds] + [{"type": "object"}, {"type": "null"}]}


class Score(BaseModel):
    """The score of a row."""

    value: float | None = Field(description="The score; null if there is no score.")
    status: Status = Field(description="Whether there is a score.")
    reason: str = Field(description="Why there is no score; empty if there is a score.")
    details: Annotated[dict[str, JsonValue] | None, WithJsonSchema(_details_schemas())] = Field(
        None, description="How the value was computed, if requested; `GET /metrics` has the schemas."
    )


class ScoredRow(BaseModel):
    """The scores of a row; each key is the canonical string of a metric."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Score]

    id: str = Field(description="Id of the row.")


class ScoreResponse(BaseModel):
    """Scores, in the order of the rows."""

    signature: str = Field(description="All settings that can change a value.")
    scores: list[ScoredRow] = Field(description="The scores of each row.")


class ErrorBody(BaseModel):
    """An error: its message and hint."""

    message: str = Field(description="What is wrong.")
    hint: str = Field(description="What to do; empty if unknown.")
    row: int | None = Field(None, description="Number of the row, from 1.")
    id: str | None = Field(None, description="Id of the row.")
    field: str | None = Field(None, description="The field or the parameter that is not valid.")


class ErrorResponse(BaseModel):
    """An error response."""

    error: ErrorBody = Field(description="The error.")


class GuardRequest(BaseModel):
    """An answer to check, with the passages that it was written from."""

    model_config = ConfigDict(extra="forbid", strict=True)

    question: Annotated[str, Field(max_length=MAX_QUESTION)] = Field(
        "", description="The question; empty if there is none."
    )
    contexts: Text | Texts = Field(description="The passages.")
    response: Annotated[str, Field(max_length=MAX_ANSWER)] = Field(description="The answer.")


class GuardDecision(BaseModel):
    """What the guard decides on an answer."""

    blocked: bool = Field(description="Whether the answer is blocked.")
    score: float | None = Field(description="Its score; null if it claims nothing, or with an error.")
    reason: str = Field(description="Why it is blocked, or why it has no score; otherwise empty.")
    promise: float | None = Field(
        description="The largest share of good answers that is blocked, with 95 % confidence; null if the "
        "promise is withdrawn, or with an error."
    )
    withdrawn: str = Field(description="Why the promise is withdrawn; empty while it holds.")
    error: str = Field(description="Why no score could be computed; empty if one was.")


class GuardCaught(BaseModel):
    """The share of labelled bad answers that the guard blocks, with an interval of 95 %."""

    value: float = Field(description="The share, one answer to each question.")
    low: float = Field(description="The lower end of the interval.")
    high: float = Field(description="The upper end of the interval.")
    questions: int = Field(description="The number of questions.")


class MetricFacts(BaseModel):
    """A metric: what it needs and what its values mean."""

    name: str = Field(description="Name of the metric.")
    summary: str = Field(description="What it measures, in one sentence.")
    needs: list[str] = Field(description="Required fields; a row without them has status `missing`.")
    low: float | None = Field(description="Smallest possible value; null if unbounded.")
    high: float | None = Field(description="Largest possible value; null if unbounded.")
    higher_is_better: bool = Field(description="Whether higher values are better.")
    unit: str = Field(description="Unit of the values; empty for a pure number.")
    version: int = Field(description="Version; it increases when the same input gives a different value.")
    judged: bool = Field(description="Whether the metric needs a judge; `POST /score` rejects such metrics.")
    citation: str = Field(description="Source of the definition.")
    details: dict[str, JsonValue] = Field(description="JSON schema of the details of a row.")


class ChangeRequest(BaseModel):
    """Changes to a run. Omitted fields stay the same."""

    model_config = ConfigDict(extra="forbid", strict=True, title="RunChange")

    name: str | None = Field(None, max_length=_MAX_NAME, description="The new name; null clears it.")
    tags: Annotated[list[str], Field(max_length=100)] | None = Field(None, description="All new tags.")


def _model(name: str, summary: str, /, **parts: tuple[object, str | None]) -> type[BaseModel]:
    """Return a model; each part has its type and description."""
    described: Any = {part: (kind, Field(description=text)) for part, (kind, text) in parts.items()}
    return cast("type[BaseModel]", create_model(name, __doc__=summary, **described))


HeadModel = _model(
    "RunHeader",
    "A run without its rows.",
    id=(str, "the id of the run; ids sort by time."),
    name=(str | None, "the name that the user gave; None if the run has none."),
    data=(str, "display name of its data."),
    rows=(int, "number of rows of the data."),
    scored=(int, "number of scored rows."),
    rejected=(int, "rows that could not be parsed."),
    state=(
        State,
        "``unfinished`` while it is running; ``damaged`` if its settings or summary cannot be read.",
    ),
    stopped=(str, "why the run stopped early, or what is damaged; otherwise empty."),
    created_at=(str, "start time, ISO 8601, UTC."),
    finished_at=(str | None, "end time, ISO 8601, UTC; None while rows are not scored."),
    metrics=(list[str], "canonical names of the metrics, in the requested order."),
    means=(dict[str, float | None], "the mean of each metric, by canonical name, if the summary has it."),
    shares=(list[str], "the metrics in [0, 1] that are shown as percent."),
    tags=(list[str], "the user's tags, sorted."),
    signature=(str, "all settings and versions that can change a number, as text."),
    versions=(dict[str, str], "versions of the packages that computed the numbers."),
    spec=(dict[str, object], "the settings of the run."),
)


@cache
def model_of(view: type) -> type[BaseModel]:
    """Return a Pydantic model that describes the JSON form of a view in OpenAPI.

    >>> from sgi.store.row_query import Cell
    >>> model_of(Cell).model_json_schema()["properties"]["value"]["anyOf"]
    [{'type': 'number'}, {'type': 'null'}]
    """
    docstring = getdoc(view) or ""
    descriptions = {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(docstring)}
    hints = get_type_hints(view, localns=_NAMES)
    names = [part.name for part in fields(view)] if is_dataclass(view) else [*hints]
    parts = {name: (_json_type(hints[name]), descriptions.get(name)) for name in names}
    return _model(view.__name__, docstring.partition("\n")[0], **parts)


def _json_type(kind: object) -> Any:
    """Return the type of the output of `as_json` for a value of this type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is RunRecord:
        return HeadModel
    if origin in {Union, UnionType}:
        return Union[tuple(_json_type(part) for part in inner)]  # noqa: UP007 - the parts are known at run time only
    if origin is Mapping:
        return dict[str, _json_type(inner[1])]  # type: ignore[misc]  # a type created at run time
    if origin in {tuple, list, frozenset, Sequence}:
        return list[_items(inner)]  # type: ignore[misc]  # the same
    if (
        isinstance(kind, type)
        and not issubclass(kind, Enum)
        and (is_dataclass(kind) or hasattr(kind, "_fields"))
    ):
        return model_of(kind)  # type: ignore[arg-type]  # classes are hashable
    return kind


def _items(inner: Sequence[Any]) -> Any:
    """Return the type of the items of a list."""
    return Union[tuple(dict.fromkeys(_json_type(part) for part in inner if part is not Ellipsis))]  # noqa: UP007 - as above


HeadlineModel = model_of(Headline)
RowPageModel = model_of(RowPage)
SampleModel = model_of(SampleView)
ComparisonModel = model_of(ComparisonView)
LeaderboardModel = model_of(LeaderboardView)
TraceStatusModel = model_of(TraceStatus)
RunListModel = _model(
    "RunList",
    "Some runs, newest first unless another order was requested.",
    runs=(list[HeadModel], "the runs of this page."),  # type: ignore[valid-type]  # a model created at run time
    total=(int, "number of runs that match the search."),
    page=(int, "number of this page, from 1."),
    pages=(int, "number of pages, at least 1."),
    search=(str, "the search text."),
    tag=(str | None, "the tag that all listed runs have; None if the list is not limited to a tag."),
    tags=(dict[str, int], "every tag with its number of runs."),
)
RunModel = _model(
    "RunModel",
    "A run: what it is, and its numbers.",
    head=(HeadModel, "What the run is."),
    headline=(HeadlineModel, "Its most important numbers."),
)
GuardFacts = _model(
    "GuardFacts",
    "The guard of the server, and the answers that it has seen since the server started.",
    digest=(str, "Digest of the guard file."),
    limit=(float, "Answers with a lower score are blocked."),
    promise=(float, "The largest share of good answers that is blocked."),
    confidence=(float, "The confidence of the promise."),
    questions=(int, "The number of questions whose good answers it was fitted on."),
    caught=(GuardCaught | None, "The share of bad answers that is blocked; null if it is unknown."),
    on_error=(OnError, "What happens to an answer that cannot be scored."),
    withdrawn=(str, "Why the promise is withdrawn; empty while it holds."),
    counts=(model_of(GuardCounts), "How many answers it has seen."),
)
