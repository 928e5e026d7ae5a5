"""Run the steps of the Containerfile without a container builder, start its command and ask for its health.

    sudo python scripts/run_containerfile.py

Each stage is an overlay of the root of this machine, in a mount namespace of its own, so no file outside
changes. The command runs as the user of the Containerfile without capabilities, on a read-only root with a
writable volume and /tmp.
It needs Linux, root, and a network for pip. It does not test the base image.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMESPACE = "SGI_IN_MOUNT_NAMESPACE"
TOKEN = "0" * 32


@dataclass
class Stage:
    """A stage of the Containerfile: its root folder and its settings."""

    root: Path
    folder: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "0:0"
    volumes: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions with their arguments; lines that end with a backslash are joined."""
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def new_root(work: Path, number: int) -> Path:
    """Mount an overlay of this machine, and give it the command `python` that the base image has."""
    upper, workdir, root = (work / f"{name}{number}" for name in ("upper", "work", "root"))
    for folder in (upper, workdir, root):
        folder.mkdir()
    options = f"lowerdir=/,upperdir={upper},workdir={workdir}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(root)], check=True)
    for name in ("dev", "proc"):
        subprocess.run(["mount", "--rbind", f"/{name}", str(root / name)], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(root / "tmp")], check=True)
    python = root / "usr/local/bin/python"
    python.unlink(missing_ok=True)
    python.symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    for parent in Path(sys.base_prefix).parents:
        (root / parent.relative_to("/")).chmod(0o755)  # in the overlay only: the user must reach Python
    return root


def inside(
    stage: Stage, command: list[str], *, user: str = "0:0", **variables: str
) -> subprocess.Popen[bytes]:
    """Start a command in the root folder of a stage."""
    uid, gid = user.split(":")
    privileges = ["--reuid", uid, "--regid", gid, "--clear-groups", "--no-new-privs"]
    if uid != "0":
        privileges += ["--bounding-set=-all", "--inh-caps=-all"]
    words = [
        "/usr/sbin/chroot",
        str(stage.root),
        "env",
        f"--chdir={stage.folder}",
        "setpriv",
        *privileges,
        *command,
    ]
    return subprocess.Popen(words, env={**os.environ, **stage.environment, **variables})


def copy(stage: Stage, stages: dict[str, Stage], arguments: str) -> None:
    """Carry out COPY, from the project or from another stage."""
    *sources, target = [word for word in arguments.split() if not word.startswith("--")]
    origin = re.search(r"--from=(\S+)", arguments)
    base = stages[origin[1]].root if origin else ROOT
    place = stage.root / Path(stage.folder, target).relative_to("/")
    for source in sources:
        path = base / source.lstrip("/")
        if path.is_dir():
            shutil.copytree(
                path, place, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            to = place / path.name if target.endswith("/") else place
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)


def configure(stage: Stage, word: str, rest: str) -> None:
    """Carry out an instruction that changes settings of the stage."""
    if word == "WORKDIR":
        stage.folder = rest
        (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
    elif word == "ENV":
        stage.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
    elif word == "USER":
        stage.user = rest
    elif word == "VOLUME":
        stage.volumes.append(rest)
    else:
        stage.settings[word] = rest


def build(work: Path) -> Stage:
    """Carry out all instructions and return the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(work)
    for word, rest in instructions((ROOT / "Containerfile").read_text("utf-8")):
        print(f"{word} {rest[:90]}", flush=True)
        if word == "FROM":
            stage = Stage(new_root(work, len(stages)))
            stages[rest.partition(" AS ")[2] or str(len(stages))] = stage
        elif word == "RUN":
            if inside(stage, ["bash", "-ec", rest]).wait():
                raise SystemExit(f"The step failed: RUN {rest}")
        elif word == "COPY":
            copy(stage, stages, rest)
        elif word != "ARG":
            configure(stage, word, rest)
    return stage


def start(stage: Stage, work: Path) -> None:
    """Start CMD on a read-only root, and wait until HEALTHCHECK succeeds."""
    for volume in stage.volumes:
        place = stage.root / volume.lstrip("/")
        content = work / "volume"
        shutil.copytree(place, content)
        owner = place.stat()
        os.chown(content, owner.st_uid, owner.st_gid)
        content.chmod(owner.st_mode)
        subprocess.run(["mount", "--bind", str(content), str(place)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(stage.root)], check=True)
    health = json.loads(stage.settings["HEALTHCHECK"].partition(" CMD ")[2])
    touched = inside(stage, ["touch", "/opt/sgi/x", "/etc/x", "/x"], user=stage.user).wait()
    server = inside(stage, json.loads(stage.settings["CMD"]), user=stage.user, SGI_SERVE_TOKEN=TOKEN)
    try:
        end = time.monotonic() + 60
        while inside(stage, health, user=stage.user).wait() != 0:
            if server.poll() is not None or time.monotonic() > end:
                raise SystemExit("The server did not become healthy.")
            time.sleep(0.5)
        status = Path(f"/proc/{server.pid}/status").read_text("utf-8")
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        uid = facts["Uid"].split()[0]
        print(f"healthy; uid {uid}, capabilities {facts['CapEff']}, {facts['VmRSS'].strip()}")
        print("written:", sorted(path.name for path in (work / "volume").iterdir()))
        if not touched or uid == "0" or int(facts["CapEff"], 16):
            raise SystemExit("The command has more rights than it should have.")
    finally:
        server.terminate()
        print("stopped with", server.wait(30))


def main() -> None:
    """Enter a mount namespace, build and start."""
    if NAMESPACE not in os.environ:
        os.environ[NAMESPACE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", name], check=True)
        try:
            stage = build(Path(name))
            size = sum(f.lstat().st_size for f in (stage.root / "opt/sgi").rglob("*") if not f.is_symlink())
            print(f"/opt/sgi has {size / 1e6:.0f} MB")
            start(stage, Path(name))
        finally:
            subprocess.run(["umount", "--recursive", "--lazy", name], check=True)


if __name__ == "__main__":
    main()
