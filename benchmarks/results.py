"""What is kept of a run of the benchmarks: every figure with its repeats, the machine, and the versions."""

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

from table import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measured import Figure

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    "semantic-grounding-index",
    "numpy",
    "onnxruntime",
    "openvino",
    "tokenizers",
    "rapidfuzz",
    "orjson",
    "pydantic",
    "sqlalchemy",
    "pyarrow",
    "ray",
)


def machine() -> dict[str, Any]:
    """The processor with what it offers to matrix products, cores given, memory, system and Python."""
    told = _processor_lines()
    flags = set(told.get("flags", "").split())
    wanted = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
    return {
        "processor": told.get("model name") or platform.processor() or platform.machine(),
        "offers": [name for name in wanted if name in flags],
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _processor_lines() -> dict[str, str]:
    """What Linux tells of the first core; nothing elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def versions() -> dict[str, str]:
    """Of the packages that the figures depend on; those not installed are left out."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def revision() -> str:
    """The commit measured, with a mark where files other than results differ; empty outside a repository."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)benchmarks/results"
    )
    return f"{commit}-dirty" if changed else commit


def _git(*words: str) -> str:
    ended = subprocess.run(["git", *words], capture_output=True, text=True, check=False, cwd=RESULTS.parent)
    return ended.stdout.strip()


def document(figures: Sequence[Figure], now: datetime) -> dict[str, Any]:
    """The whole record, as JSON holds it."""
    rows = [{**asdict(figure), "ratio": figure.ratio, "met": figure.met} for figure in figures]
    return {
        "date": now.isoformat(timespec="seconds"),
        "revision": revision(),
        "machine": machine(),
        "versions": versions(),
        "figures": rows,
    }


def write(figures: Sequence[Figure], folder: Path = RESULTS, now: datetime | None = None) -> Path:
    """Write the record, and beside it the table as Markdown; the path of the record."""
    record = document(figures, now or datetime.now(UTC))
    about = record["machine"]
    name = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\(\w+\)", "", about["processor"].lower())).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record['date'][:10]}-{name}.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    head = f"# {record['date'][:10]}: {about['processor']}, {about['cores']} cores\n\n"
    path.with_suffix(".md").write_text(head + _provenance(record) + markdown(figures), encoding="utf-8")
    return path


def _provenance(record: dict[str, Any]) -> str:
    named = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    offers = ", ".join(record["machine"]["offers"])
    head = f"Revision {record['revision']}; Python {record['machine']['python']}; {named}."
    return f"{head} The processor offers {offers}.\n\n"
