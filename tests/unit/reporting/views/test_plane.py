import dataclasses

import pytest

from sgi.reporting.views.plane import plane


def test_the_plane_holds_the_angles_that_sgi_was_made_of(kept):
    found = plane(kept.database, kept.record, most=1000)
    assert found.metric == "sgi"
    assert found.rows == len(found.points) == 60
    values = kept.columns().run.metrics["sgi"].values
    for point in found.points:
        assert point.value == pytest.approx(values[point.position])
        assert point.theta_rq / point.theta_rc == pytest.approx(point.value, rel=1e-5)


def test_without_angles_there_is_no_plane(kept):
    bare = dataclasses.replace(kept.record, id="another run")
    assert plane(kept.database, bare, most=10) is None
