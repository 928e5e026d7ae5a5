"""Validate the SBOMs and the locks of a release.

python scripts/check_release_files.py FOLDER
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.pylock import Pylock


def check_sbom(path: Path) -> int:
    """Return the number of components.

    Raises:
        SystemExit: the file does not have the format CycloneDX, or lists no components.
    """
    text = path.read_text("utf-8")
    content = json.loads(text)
    version = SchemaVersion.from_version(content["specVersion"])
    error = JsonStrictValidator(version).validate_str(text)
    if error is not None or not content.get("components"):
        raise SystemExit(f"{path.name} is not a valid list of components: {error or 'it is empty'}")
    return len(content["components"])


def check_lock(path: Path) -> int:
    """Return the number of packages; each has its hashes."""
    lock = Pylock.from_dict(tomllib.loads(path.read_text("utf-8")))
    lock.validate()
    if not lock.packages:
        raise SystemExit(f"{path.name} has no packages.")
    return len(lock.packages)


def main(folder: Path) -> None:
    """Check all files of the folder and print how much they list."""
    checks = {"*.cdx.json": check_sbom, "pylock.*.toml": check_lock}
    for pattern, check in checks.items():
        files = sorted(folder.glob(pattern))
        if not files:
            raise SystemExit(f"{folder} has no {pattern}.")
        for path in files:
            print(f"{path.name}: {check(path)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
