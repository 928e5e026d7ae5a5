"""Profile `sgi run -m sgi` without cached vectors: by library, model operator and SGI function.

    python benchmarks/profile_run.py [--rows 2000] [--before FOLDER] [--options "…"] [-o FILE]

`perf` samples the processors: it gives the time of each native library, but does not see Python functions.
`py-spy` samples the Python functions. The profile of ONNX Runtime gives the time of each model operator. With
``--before``, the script first profiles another checkout. It needs `perf` and `py-spy` on the path, and the
permission to use them. The rows come from HaluEval.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from material import ROOT, texts, write_jsonl
from results import machine, revision

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MODEL, TOKENIZER = "model (ONNX Runtime)", "tokenizer"
LIBRARIES = {
    MODEL: ("onnxruntime",),
    TOKENIZER: ("tokenizers",),
    "Python": ("libpython", "python3"),
    "system": ("kernel", "libc.so", "ld-linux"),
    "SQLite": ("libsqlite",),
}
PRODUCTS = ("MatMul", "FusedMatMul", "MultiHeadAttention", "Attention")
"""Operators that are matrix products; attention includes its softmax."""
_MAX_LINES = 12
_OPERATORS = """
import json, sys
from pathlib import Path
import onnxruntime
session_options = onnxruntime.SessionOptions
def profiling_options():
    options = session_options()
    options.enable_profiling = True
    options.profile_file_prefix = sys.argv[2]
    return options
onnxruntime.SessionOptions = profiling_options
from sgi.models.embedder.load import load_embedder
load_embedder("minilm", threads=1).embed(json.loads(Path(sys.argv[1]).read_text()))
"""


@dataclass(frozen=True)
class Profile:
    """Shares of the time from 0 to 1, largest first; ``seconds`` is the duration of the run."""

    libraries: Mapping[str, float]
    operators: Mapping[str, float]
    functions: Mapping[str, float]
    seconds: float

    @property
    def model_and_tokenizer(self) -> float:
        """Share of the model and the tokenizer in the processor time."""
        return self.libraries.get(MODEL, 0.0) + self.libraries.get(TOKENIZER, 0.0)

    @property
    def kernels(self) -> float:
        """Share of the matrix products and the tokenizer in the processor time."""
        products = sum(self.operators.get(name, 0.0) for name in PRODUCTS)
        return self.libraries.get(MODEL, 0.0) * products + self.libraries.get(TOKENIZER, 0.0)


def shares(counts: Mapping[str, float]) -> dict[str, float]:
    """Divide the counts by their sum, and sort them in descending order.

    >>> shares({"a": 1, "b": 3})
    {'b': 0.75, 'a': 0.25}
    """
    whole = sum(counts.values())
    return {name: count / whole for name, count in sorted(counts.items(), key=lambda item: -item[1])}


def library(name: str) -> str:
    """Return the group of a shared object.

    >>> library("tokenizers.abi3.so"), library("libcrypto.so.3")
    ('tokenizer', 'other')
    """
    return next((group for group, parts in LIBRARIES.items() if any(part in name for part in parts)), "other")


def by_library(report: str) -> dict[str, float]:
    """Read the output of ``perf report --sort dso``.

    >>> by_library("    80.00%  onnxruntime_pybind11.so")
    {'model (ONNX Runtime)': 1.0}
    """
    counts: dict[str, float] = defaultdict(float)
    for percent, name in re.findall(r"^\s+([\d.]+)%\s+(\S+)", report, re.MULTILINE):
        counts[library(name)] += float(percent)
    return shares(counts)


def by_function(raw: str) -> dict[str, float]:
    """Read the stacks of ``py-spy``, and count the innermost SGI function of each.

    Stacks without an SGI function come from the start of Python and from imports.

    >>> by_function("main (a/sgi/cli/run.py:3);sort (a/sgi/io/read.py:9);len (x.py:1) 3")
    {'sgi/io/read.py sort': 1.0}
    """
    counts: Counter[str] = Counter()
    for line in raw.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = re.findall(r"([^;]+?) \([^;()]*?(sgi/[\w/]+\.py):\d+\)", stack)
        counts[f"{frames[-1][1]} {frames[-1][0]}" if frames else "no SGI function"] += int(count)
    return shares(counts)


def by_operator(trace: str) -> dict[str, float]:
    """Read the profile of ONNX Runtime: the time of each kind of operator."""
    counts: Counter[str] = Counter()
    for event in json.loads(trace):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            counts[event["args"]["op_name"]] += event["dur"]
    return shares(counts)


def profile(source: Path, folder: Path, rows: int, options: list[str]) -> Profile:
    """Make the three profiles of one checkout."""
    write_jsonl(folder / "rows.jsonl", rows)
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "HF_HUB_OFFLINE": "1"}

    def run(*profiler: str) -> None:
        for name in ("runs.db", "cache.db"):
            (folder / name).unlink(missing_ok=True)
        command = [sys.executable, "-m", "sgi", "run", "rows.jsonl", "-m", "sgi", "-o", "out.jsonl", "-q"]
        outputs = ["--db", "runs.db", "--cache", "cache.db", *options]
        call([*profiler, *command, *outputs])

    def call(command: list[str]) -> str:
        process = subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=folder, env=environment
        )
        return process.stdout

    run("perf", "record", "-q", "-F", "199", "-o", "perf.data", "--")
    report = call(["perf", "report", "-i", "perf.data", "--sort", "dso", "--stdio"])
    samples = call(["perf", "report", "-i", "perf.data", "--header-only"])
    run("py-spy", "record", "-r", "100", "-f", "raw", "-o", "stacks", "--")
    (folder / "texts.json").write_text(json.dumps(texts(rows // 8)), encoding="utf-8")
    call([sys.executable, "-c", _OPERATORS, "texts.json", "operators"])
    operators = next(folder.glob("operators*.json"))
    stacks = (folder / "stacks").read_text(encoding="utf-8")
    return Profile(
        by_library(report),
        by_operator(operators.read_text(encoding="utf-8")),
        by_function(stacks),
        _duration(samples),
    )


def _duration(header: str) -> float:
    match = re.search(r"sample duration\s*:\s*([\d.]+) ms", header)
    return float(match[1]) / 1000 if match else 0.0


def section(name: str, result: Profile) -> Iterator[str]:
    """Yield the lines of one checkout as Markdown."""
    yield f"## {name}\n"
    yield (
        f"{result.seconds:.1f} s. The model and the tokenizer take **{result.model_and_tokenizer:.1%}** of "
        f"the processor time; matrix products (including attention) and tokenizer {result.kernels:.1%}.\n"
    )
    for title, counts in (
        ("library", result.libraries),
        ("operator of the model", result.operators),
        ("innermost SGI function", result.functions),
    ):
        yield f"| {title} | share |\n|---|---|"
        yield from (f"| {label} | {share:.1%} |" for label, share in list(counts.items())[:_MAX_LINES])
        yield ""


def main() -> None:
    """Profile, and print or write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--before", type=Path, help="profile this checkout first")
    parser.add_argument("--options", default="", help="more options of `sgi run` for this checkout")
    parser.add_argument("-o", "--out", type=Path)
    arguments = parser.parse_args()
    about = machine()
    lines = [
        f"# A cold `sgi run -m sgi`, {arguments.rows:,} rows of HaluEval: profile\n",
        f"{about['processor']}, {about['cores']} cores, Python {about['python']}; revision {revision()}.",
        "Libraries: `perf` (processor time). Functions: `py-spy` (threads that do not wait). Operators: the",
        "profile of ONNX Runtime on one thread.\n",
    ]
    extra = arguments.options.split()
    checkouts: list[tuple[str, Path, list[str]]] = [("Now", ROOT, extra)]
    if arguments.before:
        checkouts.insert(0, ("Before", arguments.before, []))
    for name, source, options in checkouts:
        with tempfile.TemporaryDirectory() as folder:
            lines += section(name, profile(source.absolute(), Path(folder), arguments.rows, options))
    page = "\n".join(lines)
    if arguments.out:
        arguments.out.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
