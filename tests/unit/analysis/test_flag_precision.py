from __future__ import annotations

import pytest

from sgi.analysis.flag_precision import expected_precision, flag_table


def test_the_table_of_the_package_is_consistent():
    table = flag_table()
    assert table.flags
    for flag in table.flags:
        assert 0 <= flag.low <= flag.share <= flag.high <= 1
        assert 0 < flag.base_rate < 1
        assert flag.answers <= sum(table.sets.values())


def test_the_expected_precision_weighs_each_kind_by_its_answers():
    one, other = flag_table().flags[:2]
    found = expected_precision({one.kind: 3, other.kind: 1, "colour absent": 9})
    assert found.share == pytest.approx((3 * one.share + other.share) / 4)
    assert found.base_rate == pytest.approx((3 * one.base_rate + other.base_rate) / 4)
    assert expected_precision({"colour absent": 9, one.kind: 0}) is None
