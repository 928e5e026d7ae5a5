"""Write an example and what it prints into its page: run it with the Python of the framework's environment.

.venv-integrations/NAME/bin/python scripts/update_integration_page.py NAME
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def update(name: str) -> None:
    """Replace the first code block and the first output block of the page."""
    page, example = (
        ROOT / "docs/integrations" / f"{name}.md",
        ROOT / "examples/integrations" / f"with_{name}.py",
    )
    text = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(example)]
        printed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    for language, content in (("python", example.read_text("utf-8")), ("text", printed)):
        block = f"```{language}\n{content}```"
        text = re.sub(rf"```{language}\n.*?```", lambda _, block=block: block, text, count=1, flags=re.DOTALL)
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    update(*sys.argv[1:])
