"""Build the wheel and the source distribution of a commit, and check that the build is reproducible.

    python scripts/build_release.py FOLDER [--commit HEAD]

Builds the commit twice, with different folders, time zones, locales, hash seeds and umasks, and the wheel
once more from the source distribution. It fails if the bits differ. It needs requirements/build.txt.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONDITIONS = (
    {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"},
    {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "2"},
)
UMASKS = (0o022, 0o077)


def git(*arguments: str) -> bytes:
    """Return the output of a git command in the project."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True).stdout  # noqa: S607 - our own arguments


def unpack(archive: bytes, folder: Path) -> None:
    """Write the files of a tar archive to a folder."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def build(source: Path, target: Path, condition: int, epoch: str, *kinds: str) -> None:
    """Build distributions of a source folder, without a network and without another environment."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, **CONDITIONS[condition]}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *kinds]
    subprocess.run(
        command, cwd=source, env=environment, umask=UMASKS[condition], check=True, capture_output=True
    )


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def build_release(target: Path, commit: str) -> dict[str, str]:
    """Build the distributions into a folder and return their digests.

    Raises:
        SystemExit: two builds have different bits.
    """
    epoch = git("log", "-1", "--format=%ct", commit).decode().strip()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for number, folder in enumerate(("first", "second copy")):
            unpack(git("archive", commit), work / folder)
            build(work / folder, work / f"out{number}", number, epoch)
        built = digests(work / "out0")
        sdist = next((work / "out0").glob("*.tar.gz"))
        unpack(sdist.read_bytes(), work / "sdist")
        build(work / "sdist" / sdist.name.removesuffix(".tar.gz"), work / "out2", 1, epoch, "-t", "wheel")
        for again in (digests(work / "out1"), digests(work / "out2")):
            different = [file for file, digest in again.items() if built.get(file) != digest]
            if different:
                raise SystemExit(f"The build is not reproducible: {', '.join(different)}.")
        target.mkdir(parents=True, exist_ok=True)
        for file in built:
            (target / file).write_bytes((work / "out0" / file).read_bytes())
    return built


def main() -> None:
    """Build, check and print the digests as sha256sum does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commit", default="HEAD")
    arguments = parser.parse_args()
    for file, digest in build_release(arguments.folder, arguments.commit).items():
        print(f"{digest}  {file}")


if __name__ == "__main__":
    main()
