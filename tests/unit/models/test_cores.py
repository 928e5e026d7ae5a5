from __future__ import annotations

import os

import pytest

from sgi.models.cores import usable_cores

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


def test_no_limits_told(tmp_path):
    assert usable_cores(tmp_path) == ALLOWED


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to cores")
def test_affinity_is_honoured(tmp_path):
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cores(tmp_path) == 1
    finally:
        os.sched_setaffinity(0, before)
