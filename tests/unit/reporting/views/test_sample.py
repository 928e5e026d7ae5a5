import pytest

from sgi.kernel.errors import UnknownNameError
from sgi.reporting.views.row_view import sample_view, sample_views


def test_a_row_has_its_texts_and_what_its_scores_were_made_of(kept):
    view = sample_view(kept.database, kept.record, "item-5")
    assert (view.position, view.label, view.metadata) == (5, True, {"topic": "poets", "number": 5})
    assert view.contexts[0] == "Item 5 has 5 old poets."
    assert list(view.scores) == list(kept.record.metrics)
    score = view.scores["sgi"]
    assert score.status == "ok"
    assert {"theta_rq", "theta_rc", "passages", "sentences"} <= set(score.details)


def test_some_rows_come_in_the_order_asked(kept):
    wanted = ["item-9", "item-0", "gone", "item-9", *(f"item-{k}" for k in range(1, 60))]
    found = sample_views(kept.database, kept.record, wanted)
    assert list(found) == [name for name in dict.fromkeys(wanted) if name != "gone"]
    assert found["item-0"] == sample_view(kept.database, kept.record, "item-0")


def test_a_row_that_is_not_there_is_told_with_its_neighbours(kept):
    with pytest.raises(UnknownNameError, match="item-5"):
        sample_view(kept.database, kept.record, "item-55x")
