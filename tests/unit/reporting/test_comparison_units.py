"""Tables of two runs show latency and cost with their unit, also in rows that changed."""

from sgi.analysis.compare import compare
from sgi.cli.printed_tables import changed_table
from sgi.reporting.tables import comparison_tables
from support.scored_runs import column, run


def test_differences_and_changed_rows_have_the_unit():
    base, new = (
        run(
            column("latency", [more + 1000.0 + k for k in range(20)], high=None, higher_is_better=False),
            column("cost", [0.00002 + more / 1e8] * 20, high=None, higher_is_better=False),
            name=name,
        )
        for name, more in (("old", 0), ("new", 250))
    )
    comparison = compare(base, new, changed=1)
    table = comparison_tables(comparison, ())[0].markdown()
    for text in ("1,010 ms", "1,260 ms", "+250 ms", "$0.00002 ", "$0.0000225", "+$0.0000025"):
        assert text in table
    assert "+250 ms" in changed_table(comparison, ()).markdown()
