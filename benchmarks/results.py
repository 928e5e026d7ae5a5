"""Write the results of the benchmarks: figures with all repeats, machine, versions and revision."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sgi
from table import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness import Figure

RESULTS = Path(__file__).parent / "results"
CODE = Path(sgi.__file__).parent
"""The measured code; with PYTHONPATH, it can be that of another checkout."""
PACKAGES = (
    "semantic-grounding-index",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "rapidfuzz",
    "orjson",
    "pydantic",
    "sqlalchemy",
    "pyarrow",
    "ray",
)


def machine() -> dict[str, Any]:
    """Return processor, its instructions for matrix products, usable cores, memory, system and Python."""
    processor = _processor_lines()
    flags = set(processor.get("flags", "").split())
    instructions = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
    return {
        "processor": processor.get("model name") or platform.processor() or platform.machine(),
        "offers": [name for name in instructions if name in flags],
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _processor_lines() -> dict[str, str]:
    """Return the entries of /proc/cpuinfo for the first core; empty on other systems than Linux."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def versions() -> dict[str, str]:
    """Return the versions of the installed packages that the figures depend on."""
    installed = {}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def revision() -> str:
    """Return the commit of the code, with ``-dirty`` if files but results differ; empty without one."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)benchmarks/results"
    )
    return f"{commit}-dirty" if changed else commit


def _git(*arguments: str) -> str:
    process = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=CODE)
    return process.stdout.strip()


def document(figures: Sequence[Figure], now: datetime) -> dict[str, Any]:
    """Return the content of the JSON file."""
    rows = [{**asdict(figure), "ratio": figure.ratio, "met": figure.met} for figure in figures]
    return {
        "date": now.isoformat(timespec="seconds"),
        "revision": revision(),
        "committed": _git("show", "--no-patch", "--format=%cI", "HEAD"),
        "machine": machine(),
        "versions": versions(),
        "figures": rows,
    }


def write(figures: Sequence[Figure], folder: Path = RESULTS, now: datetime | None = None) -> Path:
    """Write the JSON file and, next to it, the table as Markdown; return the path of the JSON file."""
    record = document(figures, now or datetime.now(UTC))
    computer = record["machine"]
    name = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\(\w+\)", "", computer["processor"].lower())).strip("-")
    commit = record["revision"].removesuffix("-dirty") or "unknown"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record['date'][:10]}-{name}-{commit}.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    head = f"# {record['date'][:10]}: {computer['processor']}, {computer['cores']} cores\n\n"
    path.with_suffix(".md").write_text(head + _provenance(record) + markdown(figures), encoding="utf-8")
    return path


def _provenance(record: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    offers = ", ".join(record["machine"]["offers"])
    head = f"Revision {record['revision']}; Python {record['machine']['python']}; {packages}."
    return f"{head} Instructions of the processor: {offers}.\n\n"
