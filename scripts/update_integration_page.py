"""Write what the example of a framework prints into its page: run it with the Python of its environment.

.venv-integrations/NAME/bin/python scripts/update_integration_page.py NAME
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "integrations"


def shown(name: str) -> tuple[Path, str, str]:
    """Return the page of an example, the part of the program that it shows, and the output."""
    note = f"<!-- example: {name} -->\n"
    pages = (ROOT / "docs").glob("*.md")
    (page,) = (path for path in pages if note in path.read_text("utf-8"))
    text = page.read_text("utf-8")
    code, printed = (
        re.search(rf"<!-- {kind}: {name} -->\n```{language}\n(.*?)```\n", text, re.DOTALL)
        for kind, language in (("example", "python"), ("printed", "text"))
    )
    if code is None or printed is None:
        raise SystemExit(f"{page} has no program or no output of {name}.")
    return page, code[1], printed[1]


def update(name: str) -> None:
    """Replace the output on the page; the program that it shows must be a part of the example."""
    page, code, before = shown(name)
    example = EXAMPLES / f"with_{name}.py"
    if code not in example.read_text("utf-8"):
        raise SystemExit(f"{page} shows lines that {example} does not have.")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(example)]
        printed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    page.write_text(page.read_text("utf-8").replace(before, printed, 1), "utf-8")


if __name__ == "__main__":
    update(*sys.argv[1:])
