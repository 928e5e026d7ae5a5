"""CONTRIBUTING.md lists the targets of the Makefile."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_target_with_a_description_is_listed_and_exists():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    described = set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE))
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    listed = re.findall(r"^\| `make ([a-z-]+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(described - {"help"})
    adapters = {f"test-integration-{path.stem[5:]}" for path in ROOT.glob("tests/integrations/test_*.py")}
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)) | adapters
    named = set(re.findall(r"`make ([a-z_-]+)", page))
    assert named <= targets


def test_pytest_without_the_development_environment_names_the_command():
    script = "import sys, pytest; sys.modules['hypothesis'] = None; pytest.main(['tests/unit/test_core.py'])"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.stderr == "The tests need more packages. Run `make test`, which installs them.\n"
    assert not done.stdout
