import dataclasses

from sgi.reporting.views.run_header import run_header, state_of, stop_reason
from sgi.reporting.views.to_json import as_json


def test_the_header_says_what_the_run_is(kept):
    head = run_header(kept.record)
    assert (head["name"], head["state"], head["rows"], head["scored"]) == ("monday", "finished", 60, 60)
    assert head["metrics"] == kept.record.metrics
    assert set(head["means"]) == set(head["metrics"])
    assert all(mean is not None for mean in head["means"].values())
    assert set(head["shares"]) == {"semantic_similarity", "lexical_aggregate", "content_f1"}
    assert as_json([kept.record]) == [as_json(head)]


def test_an_unfinished_run_and_one_that_was_stopped(kept):
    going = dataclasses.replace(kept.record, finished_at=None, summary=None)
    assert state_of(going) == "unfinished"
    assert run_header(going)["means"]["sgi"] is None
    stopped = dataclasses.replace(going, stopped="no disk")
    assert (state_of(stopped), stop_reason(stopped)) == ("stopped", "no disk")
    assert stop_reason(dataclasses.replace(kept.record, stopped="old news")) == ""
