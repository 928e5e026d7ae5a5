"""Query parameters of the leaderboard, on its page and in the JSON API."""

from typing import Any

from pydantic import BaseModel, Field, model_validator

from sgi.kernel.errors import UsageError
from sgi.reporting.views.leaderboard import LeaderboardOptions
from sgi.stats.letters import MAX_SYSTEMS
from sgi_web.row_parameters import MAX_PAGE


class LeaderboardParameters(BaseModel):
    """Query parameters that select the systems of a leaderboard and its parts."""

    run: list[str] = Field(
        min_length=1,
        max_length=MAX_SYSTEMS,
        description="The runs: two or more, or one with `by`.",
        examples=[["last~1", "last"]],
    )
    by: str | None = Field(
        None, max_length=1000, description="A column of one run's data that names the system of each row."
    )
    within: str | None = Field(
        None, max_length=1000, description="A column of the data; also return the means by its values."
    )
    quality: str | None = Field(
        None, max_length=1000, description="With `cost`: also return the Pareto front on two metrics."
    )
    cost: str | None = Field(None, max_length=1000, description="The second metric of the front.")
    allow_different: bool = Field(
        default=False, description="Compare runs even if they differ in more than their responses."
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, values: Any) -> Any:
        """Remove empty parameters, which forms send."""
        return {name: value for name, value in values.items() if value != ""}

    def options(self) -> LeaderboardOptions:
        """Convert to the options of the view.

        Raises:
            UsageError: only one metric of the Pareto front is given.
        """
        pair = None
        if self.quality or self.cost:
            if not (self.quality and self.cost):
                raise UsageError("A Pareto front needs two metrics: `quality` and `cost`.")
            pair = (self.quality, self.cost)
        return LeaderboardOptions(self.by, self.within, pareto=pair, allow_different=self.allow_different)

    def query(self, **changes: object) -> dict[str, object]:
        """Return the parameters that differ from their defaults, with changes, for an address."""
        values = self.model_dump(exclude_defaults=True) | changes
        return {name: int(value) if isinstance(value, bool) else value for name, value in values.items()}


class BoardParameters(LeaderboardParameters):
    """Query parameters of the page of a leaderboard, which also shows the rows of the runs side by side."""

    metric: str = Field("", max_length=2000)
    page: int = Field(1, ge=1, le=MAX_PAGE)
