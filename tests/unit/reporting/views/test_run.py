from sgi.reporting.views.run_view import run_view


def test_a_whole_view_has_every_part(kept):
    view = run_view(kept.database, kept.record, worst=3, points=10)
    assert view.head.label == "monday"
    assert {distribution.metric for distribution in view.distributions} == set(kept.record.metrics)
    assert len(view.plane.points) == 10
    assert view.plane.rows == 60
    assert [table.by for table in view.groups] == ["label", "topic"]
    assert len(view.correlation.metrics) == 4
    assert [len(lowest.samples) for lowest in view.worst] == [3, 3, 3, 3]
    assert {metric.metric for metric in view.labelled} == set(kept.record.metrics)
    assert view.reasons == ()
    assert view.usage == {}
