from dataclasses import dataclass

import pytest

from sgi.reporting.views.headline import scored_rows
from sgi.reporting.views.run_view import RunView
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support.kept_runs import rows, store_run


@dataclass
class Kept:
    database: object
    record: object

    def columns(self):
        return scored_rows(self.database, self.record)

    def view(self, **options):
        return RunView(self.database, self.record, **options)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run of 60 real rows."""
    folder = tmp_path_factory.mktemp("kept")
    run = store_run(folder / "sgi.db", folder, rows(60), name="monday")
    with open_database(folder / "sgi.db") as database:
        yield Kept(database, find_run(database, run))
