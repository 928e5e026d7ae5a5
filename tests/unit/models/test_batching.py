import os
from threading import get_ident

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.models.batching import distinct, equal_length_batches, run_batches, usable_cores


@given(st.lists(st.text(max_size=3)))
def test_distinct_texts_give_back_the_texts(texts):
    unique, places = distinct(texts)
    assert [unique[place] for place in places] == texts
    assert len(set(unique)) == len(unique)
    assert unique == list(dict.fromkeys(texts))


@given(st.lists(st.integers(1, 40)), st.integers(1, 100))
def test_batches_cover_every_text_once_within_the_budget(lengths, budget):
    batches = equal_length_batches(lengths, budget)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len({lengths[place] for place in batch}) == 1
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= budget


@given(st.lists(st.integers(1, 9)))
def test_longest_first(lengths):
    firsts = [lengths[batch[0]] for batch in equal_length_batches(lengths, 8)]
    assert firsts == sorted(firsts, reverse=True)


def test_as_few_batches_as_the_budget_allows():
    assert len(equal_length_batches([4] * 100, 40)) == 10


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 3]])
def test_nothing_and_empty_texts(lengths):
    batches = equal_length_batches(lengths, 4)
    assert sum(map(len, batches)) == len(lengths)
    assert all(batch.dtype == np.int64 for batch in batches)


@pytest.mark.parametrize(
    ("batches", "threads", "starts_threads"), [(1, 4, False), (3, 1, False), (3, 2, True)]
)
def test_threads_start_only_for_parallel_batches(batches, threads, starts_threads):
    idents = []
    run_batches([np.array([n]) for n in range(batches)], lambda _: idents.append(get_ident()), threads)
    assert len(idents) == batches
    assert (get_ident() not in idents) == starts_threads


ALLOWED = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ("100000 100000", 1),
        ("150000 100000", min(2, ALLOWED)),
        ("50000 100000", 1),
        ("99900000 100000", ALLOWED),
        ("max 100000", ALLOWED),
        ("", ALLOWED),
        ("100000 0", ALLOWED),
    ],
)
def test_quota_of_a_container(tmp_path, files, cores):
    (tmp_path / "cpu.max").write_text(files)
    assert usable_cores(tmp_path) == cores


@pytest.mark.parametrize(("quota", "cores"), [("100000", 1), ("-1", ALLOWED)])
def test_quota_of_an_older_container(tmp_path, quota, cores):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert usable_cores(tmp_path) == cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to cores")
def test_affinity_is_honoured(tmp_path):
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cores(tmp_path) == 1
    finally:
        os.sched_setaffinity(0, before)
