"""Compute the table of docs/retrieval.md: values of SGI, trec_eval and other tools on small cases.

Each tool runs in its own environment (``make oracles`` and ``make test-integration-X`` build them):

    python scripts/retrieval_page.py TOOL=PYTHON ...

for example ``trec_eval=.venv-oracles/bin/python mlflow=.venv-integrations/mlflow/bin/python``; the tools are
trec_eval, mlflow, llama_index and haystack.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from page_parts import replace_parts
from retrieval_peers import CASES, TOOLS, K

import sgi
from sgi.kernel.errors import DataError
from sgi.kernel.signature import package_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAGE = Path(__file__).parents[1] / "docs" / "retrieval.md"
SCRIPT = Path(__file__).with_name("retrieval_peers.py")
NO_METRIC = "–"
Value = float | str | None


def own_value(metric: str, retrieved: Sequence[str], gold: Sequence[str]) -> Value:
    """Return the value of SGI, or the reason why there is none."""
    name = metric if metric in {"map", "mrr"} else f"{metric}@{K}"
    try:
        result = sgi.evaluate([{"context_ids": list(retrieved), "gold_ids": list(gold)}], [name])
    except DataError as error:
        return f"error: {error.message}"
    score = result[name].row(0)
    return score.status.value if score.value is None else score.value


def peer_values(tool: str, python: str) -> tuple[str, dict[str, Value]]:
    """Return the name of a tool with its version, and its values by case."""
    command = [python, str(SCRIPT), tool]
    run = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own script
    answer = json.loads(run.stdout)
    return answer["tool"], answer["values"]


def cell(value: Value, truth: Value) -> str:
    """Return a value for the table; bold if it is a number that trec_eval does not give."""
    if value is None:
        return NO_METRIC
    if isinstance(value, str):
        return value.partition(":")[0]
    is_right = isinstance(truth, float) and abs(value - truth) < 1e-4  # noqa: PLR2004 - MLflow has float32
    return f"{value:.3f}" if is_right else f"**{value:.3f}**"


def table(columns: Mapping[str, Mapping[str, Value]], truth: Mapping[str, Value]) -> str:
    """Return a Markdown table with a row for each case."""
    lines = ["| case | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for case in CASES:
        cells = (cell(values.get(case), truth[case]) for values in columns.values())
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Compute the table and write the page.

    Raises:
        SystemExit: an argument is not TOOL=PYTHON, or a tool is missing.
    """
    pythons = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    if pythons.keys() != TOOLS.keys():
        sys.exit(f"Give TOOL=PYTHON for each of {', '.join(TOOLS)}.")
    own = {case: own_value(*parts) for case, parts in CASES.items()}
    columns = {f"SGI {package_version()}": own, **dict(peer_values(tool, pythons[tool]) for tool in TOOLS)}
    truth = next(values for name, values in columns.items() if name.startswith("trec_eval"))
    page = replace_parts(PAGE.read_text(encoding="utf-8"), {"peers": table(columns, truth)})
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
