from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # at the end, so that no script hides another module


@pytest.fixture
def benchmarks():
    return BENCHMARKS
