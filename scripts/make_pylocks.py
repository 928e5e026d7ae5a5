"""Write a lock in the format pylock.toml for the base install and for each extra.

    python scripts/make_pylocks.py FOLDER

The versions are those of requirements/integrations.txt. The files contain addresses of the package index, so
they are files of a release and not committed. The extra `torch` has none: torch has builds for each machine.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND = (
    "uv pip compile --quiet --no-annotate --no-header --universal --python-version 3.11 --format pylock.toml"
)
CONSTRAINTS = ROOT / "requirements" / "integrations.txt"


def extras() -> list[str]:
    """Return the extras that have packages of their own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [
        name for name, packages in project["optional-dependencies"].items() if packages and name != "torch"
    ]


def lock(target: Path, *options: str) -> None:
    """Write one lock."""
    command = [*COMMAND.split(), "pyproject.toml", "--constraint", str(CONSTRAINTS), *options]
    subprocess.run([*command, "--output-file", str(target)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def main(folder: Path) -> None:
    """Write all locks to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lock(folder / "pylock.base.toml")
    for name in extras():
        lock(folder / f"pylock.{name}.toml", "--extra", name)
        print(f"pylock.{name}.toml")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
