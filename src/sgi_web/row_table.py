"""The table of rows: query parameters that select rows, on pages and in the JSON API, and its columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from sgi.engine.review import FINDINGS_FIRST, is_to_check
from sgi.kernel.metric import Status
from sgi.reporting.answers_to_check import reason_to_check
from sgi.reporting.formatting import has_findings, importance, is_higher_better, share_of_range
from sgi.reporting.views.row_view import SampleView, sample_views
from sgi.store.database import Database
from sgi.store.row_query import RowPage, RowQuery, Sort, worst_first
from sgi.store.run_queries import RunRecord
from sgi_web.site import field_text, from_field, run_path, with_query

MAX_PAGE = 10**9
TEXT_COLUMNS = ("label", "why", "question", "response")
MAX_REASONS = 100
"""Maximum rows of a page that says why rows are ones to check."""
SHADES = 5
"""Number of shades of a cell; the strongest marks the worst values."""
_WHOLE_PLANE = (0.0, 4.0, 0.0, 4.0)


Column = Annotated[str, AfterValidator(from_field)] | None
"""The name of a column, which can have any characters."""
_COLUMNS = {"by", "is", "within"}


class FormParameters(BaseModel):
    """Query parameters that a form sends."""

    model_config = ConfigDict(allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, values: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in values.items() if value != ""}

    def query_values(self, **changes: object) -> dict[str, object]:
        """Return the query of a link: the parameters with these changes, without defaults."""
        values = self.model_dump(mode="json", by_alias=True, exclude_defaults=True) | changes
        values |= {name: field_text(values[name]) for name in _COLUMNS & values.keys() if values[name]}
        return {name: int(value) if isinstance(value, bool) else value for name, value in values.items()}


def _order(sort: str, metric: str | None) -> Sort:
    if sort == "worst":
        better = metric is not None and is_higher_better(metric)
        return "position" if metric is None else worst_first(higher_is_better=better)
    return cast("Sort", sort)


class RowParameters(FormParameters):
    """Query parameters that select and order the rows of a run."""

    q: str = Field(
        "",
        max_length=1000,
        description="Words in the row's id, question or response (case-insensitive); quote a phrase.",
    )
    metric: str | None = Field(None, description="The metric that status, low, high and sort apply to.")
    status: Status | None = Field(None, description="Status of the metric's score.")
    low: float | None = Field(None, description="Minimum value.")
    high: float | None = Field(None, description="Maximum value.")
    label: bool | None = Field(None, description="Label of the row.")
    rc_low: float = Field(0.0, description="Minimum angle between response and context, radians.")
    rc_high: float = Field(4.0, description="Maximum angle between response and context, radians.")
    rq_low: float = Field(0.0, description="Minimum angle between response and question, radians.")
    rq_high: float = Field(4.0, description="Maximum angle between response and question, radians.")
    by: Column = Field(None, description="A column of the metadata; select rows with the value `is`.")
    value: Annotated[str, AfterValidator(from_field)] = Field(
        "", alias="is", description="Its value, as text."
    )
    sort: Literal["position", "lowest", "highest", "worst"] = Field(
        "position",
        description="By position, by the value of the metric, or its worst values with findings first.",
    )
    page: int = Field(1, ge=1, le=MAX_PAGE, description="Number of the page, from 1.")
    size: int = Field(50, ge=1, le=10_000, description="Rows per page.")

    @property
    def needs_metric(self) -> bool:
        """Whether a filter or the order needs a metric, but none is given."""
        uses = self.status is not None or self.low is not None or self.high is not None
        return self.metric is None and (uses or self.sort != "position")

    def query(self) -> RowQuery:
        """Convert to a `RowQuery`."""
        plane = (self.rc_low, self.rc_high, self.rq_low, self.rq_high)
        same = ("metric", "status", "low", "high", "label", "page", "size")
        is_worst = self.sort == "worst" and self.metric is not None
        return RowQuery(
            text=self.q,
            plane=None if plane == _WHOLE_PLANE else plane,
            group=None if self.by is None else (self.by, self.value),
            sort=_order(self.sort, self.metric),
            first=FINDINGS_FIRST if is_worst and has_findings(self.metric or "") else (),
            **{name: getattr(self, name) for name in same},
        )

    def filters(self) -> dict[str, object]:
        """Return the parameters that differ from their defaults, except the page and its size."""
        return {name: value for name, value in self.query_values().items() if name not in {"page", "size"}}


class PageParameters(RowParameters):
    """Query parameters of the page of a run: also the columns of the table. The worst rows come first."""

    sort: Literal["position", "lowest", "highest", "worst"] = "worst"

    columns: list[str] = Field([], max_length=500, description="Columns of the table; all if empty.")

    def shown(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return which of these columns the table shows."""
        return tuple(name for name in names if not self.columns or name in self.columns)


@dataclass(frozen=True)
class RowColumn:
    """A column of the table.

    Attributes:
        address: the rows sorted by this column; again for the other direction. It is empty if a filter
            applies to the values of another metric, since the filter would then apply to this one.
        order: the present order of the column, as `aria-sort` names it.
        metric: its canonical name; empty for the position.
    """

    address: str
    order: Literal["ascending", "descending", "none"]
    metric: str = ""

    def shade(self, value: float) -> int:
        """Return a shade from 1 (good) to `SHADES` (bad); 0 for a metric without a finite range.

        >>> column = RowColumn("", "none", "rouge_l")
        >>> column.shade(1.0), column.shade(0.5), column.shade(0.0)
        (1, 3, 5)
        """
        share = share_of_range(self.metric, value)
        if share is None:
            return 0
        distance = 1 - share if is_higher_better(self.metric) else share
        return 1 + min(SHADES - 1, max(0, int(distance * SHADES)))


def text_columns(record: RunRecord) -> tuple[str, ...]:
    """Return the columns without a metric; runs with findings also have a column with the reason."""
    return TEXT_COLUMNS if any(map(has_findings, record.metrics)) else TEXT_COLUMNS[:1] + TEXT_COLUMNS[2:]


def review_metric(record: RunRecord) -> str | None:
    """Return the metric whose worst rows come first: one with findings, or the most important one."""
    return min(record.metrics, key=lambda name: (not has_findings(name), importance(name)), default=None)


def reasons_of_rows(database: Database, record: RunRecord, rows: RowPage) -> dict[int, str]:
    """Return why rows of a page need a check, by position; empty for a page with many rows."""
    metric = review_metric(record)
    if metric is None or not has_findings(metric) or len(rows.rows) > MAX_REASONS:
        return {}
    samples = sample_views(database, record, [row.id for row in rows.rows])
    return {sample.position: reason_of(sample, metric) for sample in samples.values()}


def reason_of(sample: SampleView, metric: str) -> str:
    """Return why a row needs a check by a metric; empty if it does not."""
    score = sample.scores.get(metric)
    is_one = score is not None and is_to_check(score.details, score.value)
    return reason_to_check(sample, metric) if is_one else ""


def row_columns(run: str, rows: RowPage, filters: Mapping[str, object]) -> dict[str, RowColumn]:
    """Return the columns of the metrics by their names, and "" for the position.

    The first sorting by a metric shows its worst rows first.
    """
    kept = {name: value for name, value in filters.items() if name not in {"sort", "page", "at"}}
    query, sort = rows.query, rows.query.sort
    has_value_filter = query.status is not None or query.low is not None or query.high is not None

    def column(metric: str) -> RowColumn:
        worst = worst_first(higher_is_better=is_higher_better(metric))
        is_chosen = metric == query.metric
        is_sorted = is_chosen and sort != "position" and not query.first
        best = "highest" if worst == "lowest" else "lowest"
        target = best if is_sorted and sort == worst else worst
        order: Literal["ascending", "descending", "none"] = "none"
        if is_sorted:
            order = "ascending" if sort == "lowest" else "descending"
        address = with_query(run_path(run), kept | {"metric": metric, "sort": target})
        return RowColumn(address if is_chosen or not has_value_filter else "", order, metric)

    position = with_query(run_path(run), kept | {"sort": "position"})
    by_position = RowColumn(position, "ascending" if sort == "position" else "none")
    return {"": by_position} | {metric: column(metric) for metric in rows.metrics}
