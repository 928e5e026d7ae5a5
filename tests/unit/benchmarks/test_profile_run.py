from __future__ import annotations

import doctest
import json

import pytest

import profile_run
from profile_run import Profile, by_function, by_library, by_operator, section

REPORT = """# Total Lost Samples: 0
#
# Overhead  Shared Object
    80.00%  onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so
    10.00%  libpython3.11.so.1.0
     5.00%  tokenizers.abi3.so
     5.00%  [kernel.kallsyms]
# (Tip: 50% of tips are tips)
"""
STACKS = """main (src/sgi/cli/run.py:3);sort (src/sgi/io/read.py:9);len (x.py:1) 3
main (src/sgi/cli/run.py:4);sort (src/sgi/io/read.py:11) 4
_bootstrap (<frozen importlib._bootstrap>:1) 1
"""


def test_doctests():
    assert doctest.testmod(profile_run).attempted > 0
    assert doctest.testmod(profile_run).failed == 0


def test_shares_of_libraries_functions_and_operators():
    assert by_library(REPORT) == {
        profile_run.MODEL: pytest.approx(0.8),
        "Python": pytest.approx(0.1),
        profile_run.TOKENIZER: pytest.approx(0.05),
        "system": pytest.approx(0.05),
    }
    assert by_function(STACKS) == {"sgi/io/read.py sort": 0.875, "no SGI function": 0.125}
    nodes = [("MatMul", 6, "Node"), ("Gelu", 2, "Node"), ("MatMul", 2, "Node"), ("MatMul", 99, "Session")]
    trace = json.dumps(
        [
            {"cat": cat, "name": "n_kernel_time", "dur": duration, "args": {"op_name": op}}
            for op, duration, cat in nodes
        ]
    )
    assert by_operator(trace) == {"MatMul": 0.8, "Gelu": 0.2}


def test_the_page_has_the_shares_of_model_tokenizer_and_matrix_products():
    profile = Profile(by_library(REPORT), {"MatMul": 0.75, "Gelu": 0.25}, by_function(STACKS), 2.5)
    assert profile.model_and_tokenizer == pytest.approx(0.85)
    assert profile.kernels == pytest.approx(0.65)
    page = "\n".join(section("Now", profile))
    assert "**85.0%**" in page
    assert "tokenizer 65.0%" in page
    assert "| sgi/io/read.py sort | 87.5% |" in page
