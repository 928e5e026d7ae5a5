"""Finds how many CPU cores this process may use, from its affinity and the quota of its container."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Return the number of usable cores, at least one.

    ``cgroup`` is the folder with the container's limits (version 2: ``cpu.max``; version 1:
    ``cpu/cpu.cfs_quota_us``).
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, _quota(cgroup)))


def _quota(cgroup: Path) -> int:
    """Return the container's CPU quota in cores, rounded up; a large number if there is no quota."""
    unlimited = 1 << 30
    try:
        if (cgroup / "cpu.max").exists():
            quota, period = (cgroup / "cpu.max").read_text().split()
        else:
            quota, period = ((cgroup / f"cpu/cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return math.ceil(int(quota) / int(period)) if int(quota) > 0 else unlimited
    except (OSError, ValueError, ZeroDivisionError):
        return unlimited  # "max", or a system without cgroups
