from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from sgi.web.kept import Kept


def test_what_was_used_longest_ago_goes():
    kept = Kept(2)
    made = []

    def value(key):
        return kept.get(key, lambda: made.append(key) or key)

    for key in "abacab":
        assert value(key) == key
    assert made == ["a", "b", "c", "b"]


def test_several_threads_make_a_value_once():
    kept, made = Kept(), []
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: kept.get("key", lambda: made.append(1) or 7), range(50)))
    assert (found, made) == ([7] * 50, [1])


def test_a_failure_is_not_kept():
    kept = Kept()
    with pytest.raises(ZeroDivisionError):
        kept.get("key", lambda: 1 / 0)
    assert kept.get("key", lambda: 2) == 2
