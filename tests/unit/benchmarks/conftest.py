import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # at the end, so that no script hides another module


@pytest.fixture
def benchmarks():
    return BENCHMARKS


@pytest.fixture
def now():
    return datetime(2026, 11, 22, 14, 30, tzinfo=UTC)
