from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # last, so that a script's name hides nothing


@pytest.fixture
def benchmarks():
    return BENCHMARKS
