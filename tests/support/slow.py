"""Parameters of which only `make test-all` makes tests."""

from typing import Any

import pytest


def slow(*rows: Any) -> list[Any]:
    """Mark rows of parameters as slow; a row that is not a tuple is one parameter."""
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.slow) for row in rows
    ]
