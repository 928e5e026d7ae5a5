from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sgi.kernel.telemetry import VARIABLES

SET = "import os, sgi; print(os.environ['ORT_DISABLE_TELEMETRY'], os.environ['RAY_USAGE_STATS_ENABLED'])"
LATE = """
import types, sys
sys.modules["onnxruntime"] = types.ModuleType("onnxruntime")
import sgi
"""


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=variables | environment, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("value", [None, "", "0"])
def test_importing_sgi_turns_telemetry_off_also_where_the_variable_is_blank_or_zero(value):
    environment = {} if value is None else {"ORT_DISABLE_TELEMETRY": value, "RAY_USAGE_STATS_ENABLED": "1"}
    assert python(SET, **environment).stdout.split() == ["1", "0"]


def test_a_runtime_that_was_imported_before_is_warned_of():
    assert "onnxruntime was imported before sgi" in python(LATE).stderr
    assert python(LATE, ORT_DISABLE_TELEMETRY="1").stderr == ""
