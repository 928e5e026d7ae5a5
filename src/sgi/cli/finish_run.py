"""What `sgi run` does once a run has ended."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.engine.pipeline import RunReport
    from sgi.engine.spec import RunSpec


def make_run_views(run: str, rows: int, database: str | None) -> None:
    """Store what the dashboard shows of a large run, so that its first view is quick."""
    from sgi.store.database import open_database
    from sgi.store.run_views import MANY_ROWS

    if rows < MANY_ROWS:
        return
    from sgi.reporting.views.run_views import make_views

    with suppress(SgiError), open_database(database, create=False) as opened:  # the run itself is stored
        make_views(opened, run)


def fitted_on_same_data(spec: RunSpec, report: RunReport, database: str | None) -> Iterator[str]:
    """Whether the calibration was fitted on the data it was applied to."""
    from sgi.engine.plan import plan_run
    from sgi.kernel.placeholders import is_same_data
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    if spec.calibration is None:
        return
    if report.run is None:
        dataset = plan_run(spec).identity
    else:
        with open_database(database, create=False) as opened:
            dataset = find_run(opened, report.run).dataset
    if is_same_data(dataset, spec.calibration.dataset):
        fitted = f"The calibration {spec.calibration.digest} was fitted on these very rows"
        yield f"{fitted}: what it makes of them does not show what it makes of others."
