"""Where the time of a cold `sgi run -m sgi` goes: by library, by operator, by function of ours.

    python benchmarks/profile_run.py [--rows 2000] [--before FOLDER] [--options "…"] [-o FILE]

Three views of the same work, on rows of HaluEval. `perf` samples the processors and tells in whose machine
code they were, which is exact but knows no Python. `py-spy` tells which functions of ours the rest was in.
The runtime's own profile splits the model by operator. With ``--before``, the same for another checkout,
first. Needs `perf` and `py-spy` on the path, and the right to use them.
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

MODEL, TOKENIZER = "model (ONNX Runtime, OpenVINO)", "tokenizer"
LIBRARIES = {
    MODEL: ("onnxruntime", "openvino"),
    TOKENIZER: ("tokenizers",),
    "Python": ("libpython", "python3"),
    "system": ("kernel", "libc.so", "ld-linux"),
    "SQLite": ("libsqlite",),
}
PRODUCTS = ("MatMul", "FusedMatMul", "MultiHeadAttention", "Attention")
"""Operators that are matrix products, those of attention with the softmax between."""
_LINES = 12
_OPERATORS = """
import json, sys
from pathlib import Path
import onnxruntime
made = onnxruntime.SessionOptions
def profiled():
    options = made()
    options.enable_profiling = True
    options.profile_file_prefix = sys.argv[2]
    return options
onnxruntime.SessionOptions = profiled
from sgi.models.embedder.load import load_embedder
load_embedder("minilm", backend="onnx", threads=1).embed(json.loads(Path(sys.argv[1]).read_text()))
"""


@dataclass(frozen=True)
class Profile:
    """Shares of one, largest first."""

    libraries: Mapping[str, float]
    operators: Mapping[str, float]
    functions: Mapping[str, float]
    seconds: float

    @property
    def model_and_tokenizer(self) -> float:
        """Their share in all the processors' time."""
        return self.libraries.get(MODEL, 0.0) + self.libraries.get(TOKENIZER, 0.0)

    @property
    def kernels(self) -> float:
        """The same without the model's other operators: matrix products and tokenizer."""
        products = sum(self.operators.get(name, 0.0) for name in PRODUCTS)
        return self.libraries.get(MODEL, 0.0) * products + self.libraries.get(TOKENIZER, 0.0)


def shares(counts: Mapping[str, float]) -> dict[str, float]:
    """Of the sum, largest first.

    >>> shares({"a": 1, "b": 3})
    {'b': 0.75, 'a': 0.25}
    """
    whole = sum(counts.values())
    return {name: count / whole for name, count in sorted(counts.items(), key=lambda each: -each[1])}


def library(name: str) -> str:
    """The group of a shared object.

    >>> library("tokenizers.abi3.so"), library("libcrypto.so.3")
    ('tokenizer', 'other')
    """
    return next((group for group, parts in LIBRARIES.items() if any(part in name for part in parts)), "other")


def by_library(report: str) -> dict[str, float]:
    """From what ``perf report --sort dso`` prints.

    >>> by_library("    80.00%  onnxruntime_pybind11.so")
    {'model (ONNX Runtime, OpenVINO)': 1.0}
    """
    counts: dict[str, float] = defaultdict(float)
    for percent, name in re.findall(r"^\s+([\d.]+)%\s+(\S+)", report, re.MULTILINE):
        counts[library(name)] += float(percent)
    return shares(counts)


def by_function(raw: str) -> dict[str, float]:
    """From the stacks that ``py-spy`` writes: the innermost function of ours in each.

    Stacks without any of ours are the start of Python and of what ours imports.

    >>> by_function("main (a/sgi/cli/run.py:3);sort (a/sgi/io/read.py:9);len (x.py:1) 3")
    {'sgi/io/read.py sort': 1.0}
    """
    counts: Counter[str] = Counter()
    for line in raw.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = re.findall(r"([^;]+?) \([^;()]*?(sgi/[\w/]+\.py):\d+\)", stack)
        counts[f"{frames[-1][1]} {frames[-1][0]}" if frames else "no function of ours"] += int(count)
    return shares(counts)


def by_operator(trace: str) -> dict[str, float]:
    """From ONNX Runtime's profile: the time inside each kind of operator."""
    counts: Counter[str] = Counter()
    for event in json.loads(trace):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            counts[event["args"]["op_name"]] += event["dur"]
    return shares(counts)


def profile(source: Path, folder: Path, rows: int, options: list[str]) -> Profile:
    """All three views of one checkout."""
    write_jsonl(folder / "rows.jsonl", rows)
    surroundings = {**os.environ, "PYTHONPATH": str(source / "src"), "HF_HUB_OFFLINE": "1"}

    def run(*before: str) -> None:
        for name in ("runs.db", "cache.db"):
            (folder / name).unlink(missing_ok=True)
        command = [sys.executable, "-m", "sgi", "run", "rows.jsonl", "-m", "sgi", "-o", "out.jsonl", "-q"]
        places = ["--db", "runs.db", "--cache", "cache.db", *options]
        call([*before, *command, *places])

    def call(command: list[str]) -> str:
        ended = subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=folder, env=surroundings
        )
        return ended.stdout

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
    found = re.search(r"sample duration\s*:\s*([\d.]+) ms", header)
    return float(found[1]) / 1000 if found else 0.0


def told(name: str, found: Profile) -> Iterator[str]:
    """One checkout, for a page."""
    yield f"## {name}\n"
    yield (
        f"{found.seconds:.1f} s. Of the processors' time, the model and the tokenizer take "
        f"**{found.model_and_tokenizer:.1%}**; matrix products (with all of attention) and tokenizer "
        f"{found.kernels:.1%}.\n"
    )
    for title, counts in (
        ("library", found.libraries),
        ("operator of the model", found.operators),
        ("function of ours, innermost", found.functions),
    ):
        yield f"| {title} | share |\n|---|---|"
        yield from (f"| {each} | {share:.1%} |" for each, share in list(counts.items())[:_LINES])
        yield ""


def main() -> None:
    """Profile, and print or write a page."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rows", type=int, default=2000)
    words.add_argument("--before", type=Path, help="a checkout to profile first")
    words.add_argument("--options", default="", help="more options of `sgi run`, for this checkout")
    words.add_argument("-o", "--out", type=Path)
    chosen = words.parse_args()
    about = machine()
    lines = [
        f"# A cold `sgi run -m sgi`, {chosen.rows:,} rows of HaluEval: where the time goes\n",
        f"{about['processor']}, {about['cores']} cores, Python {about['python']}; revision {revision()}.",
        "Libraries by `perf` (time on the processors), functions by `py-spy` (of threads that do not wait),",
        "operators by ONNX Runtime's own profile on one thread.\n",
    ]
    extra = chosen.options.split()
    todo: list[tuple[str, Path, list[str]]] = [("Now", ROOT, extra)]
    if chosen.before:
        todo.insert(0, ("Before", chosen.before, []))
    for name, source, options in todo:
        with tempfile.TemporaryDirectory() as folder:
            lines += told(name, profile(source.absolute(), Path(folder), chosen.rows, options))
    page = "\n".join(lines)
    if chosen.out:
        chosen.out.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
