"""One attempt of some kinds of the campaign of kills; `make kills` makes many of all kinds."""

import pytest

from kills.campaign import all_kinds, run_kind


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("sgi run with a judge in batches", "two sgi run on one SQLite file", "process of PostgreSQL"),
        *("labels in sgi serve", "upload that is scored", "sgi serve, restart of PostgreSQL"),
        "sgi run -o, csv",
    ],
)
def test_nothing_is_lost_or_doubled_by_a_kill(name, tmp_path):
    assert run_kind(all_kinds()[name], [0], 7, tmp_path).fell == 0
