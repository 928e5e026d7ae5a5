import dataclasses

import pytest

from sgi.engine.summary import Summary
from sgi.reporting.views.headline import headline


def test_the_headline_of_a_finished_run_is_the_one_that_was_kept(kept):
    summary = Summary.from_dict(kept.record.summary)
    found = headline(kept.database, kept.record)
    assert found.metrics == summary.metrics
    assert found.baselines == summary.baselines
    assert (found.labelled, found.positives, found.partial) == (60, 45, "")


def test_without_a_kept_headline_it_is_computed_and_says_so(kept):
    bare = dataclasses.replace(kept.record, summary=None)
    found = headline(kept.database, bare)
    kept_means = [made.mean for made in headline(kept.database, kept.record).metrics]
    assert [made.mean for made in found.metrics] == pytest.approx(kept_means)
    assert found.partial == "The run has no stored summary; these numbers are computed from its scores."


def test_a_run_without_rows_has_an_empty_headline(kept):
    bare = dataclasses.replace(kept.record, summary=None, scored=0, finished_at=None)
    found = headline(kept.database, bare)
    assert found.metrics == ()
    assert found.partial == "Only 0 of 60 rows are scored so far."


def test_a_run_that_was_deleted_meanwhile_has_an_empty_headline(kept):
    gone = dataclasses.replace(kept.record, id="gone", dataset="gone", summary=None)
    assert gone.scored > 0
    assert headline(kept.database, gone).metrics == ()
