import dataclasses

from sgi.reporting.views.run_header import run_header


def test_the_head_says_what_the_run_is(kept):
    head = run_header(kept.record)
    assert (head.label, head.state, head.rows, head.scored) == ("monday", "finished", 60, 60)
    assert head.metrics == kept.record.metrics
    assert set(head.means) == set(head.metrics)
    assert all(mean is not None for mean in head.means.values())
    assert head.shares == {"semantic_similarity", "lexical_aggregate", "content_f1"}


def test_without_a_name_the_id_is_the_label(kept):
    assert run_header(dataclasses.replace(kept.record, name=None)).label == kept.record.id


def test_a_run_that_goes_on_and_one_that_was_stopped(kept):
    going = dataclasses.replace(kept.record, finished_at=None, summary=None)
    assert run_header(going).state == "unfinished"
    assert run_header(going).means["sgi"] is None
    stopped = run_header(dataclasses.replace(going, stopped="no disk"))
    assert (stopped.state, stopped.stopped) == ("stopped", "no disk")
    assert run_header(dataclasses.replace(kept.record, stopped="old news")).stopped == ""
