"""Doctests of modules that need a framework are run by `make test-integrations`."""

from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests" / "integrations"
collect_ignore = [
    f"sgi/integrations/{test.stem.removeprefix('test_')}.py" for test in TESTS.glob("test_*.py")
]
