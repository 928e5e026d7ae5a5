"""Query parameters of pages and of the JSON API that select rows."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sgi.kernel.metric import Status
from sgi.store.row_filters import RowQuery

MAX_PAGE = 10**9
TEXT_COLUMNS = ("label", "question", "response")
_WHOLE_PLANE = (0.0, 4.0, 0.0, 4.0)


class RowParameters(BaseModel):
    """Query parameters that select and order the rows of a run."""

    model_config = ConfigDict(allow_inf_nan=False)

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
    by: str | None = Field(None, description="A column of the metadata; select rows with the value `is`.")
    value: str = Field("", alias="is", description="Its value, as text.")
    sort: Literal["position", "lowest", "highest"] = Field(
        "position", description="By position or by the value of the metric."
    )
    page: int = Field(1, ge=1, le=MAX_PAGE, description="Number of the page, from 1.")
    size: int = Field(50, ge=1, le=10_000, description="Rows per page.")

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, values: Any) -> Any:
        """Remove empty parameters, which forms send."""
        return {name: value for name, value in values.items() if value != ""}

    @property
    def needs_metric(self) -> bool:
        """Whether a filter or the order needs a metric, but none is given."""
        uses = self.status is not None or self.low is not None or self.high is not None
        return self.metric is None and (uses or self.sort != "position")

    def query(self) -> RowQuery:
        """Convert to a `RowQuery`."""
        plane = (self.rc_low, self.rc_high, self.rq_low, self.rq_high)
        return RowQuery(
            text=self.q,
            metric=self.metric,
            status=self.status,
            low=self.low,
            high=self.high,
            label=self.label,
            plane=None if plane == _WHOLE_PLANE else plane,
            group=None if self.by is None else (self.by, self.value),
            sort=self.sort,
            page=self.page,
            size=self.size,
        )

    def filters(self) -> dict[str, object]:
        """Return the parameters that differ from their defaults, except the page and its size."""
        values = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"page", "size"})
        return {name: int(value) if isinstance(value, bool) else value for name, value in values.items()}


class PageParameters(RowParameters):
    """Query parameters of the page of a run: also the columns of the table."""

    columns: list[str] = Field([], max_length=500, description="Columns of the table; all if empty.")

    def texts(self) -> tuple[str, ...]:
        """Return the columns without a metric."""
        return tuple(name for name in TEXT_COLUMNS if not self.columns or name in self.columns)

    def metrics(self, every: Sequence[str]) -> tuple[str, ...]:
        """Return the metrics that have a column."""
        return tuple(name for name in every if not self.columns or name in self.columns)
