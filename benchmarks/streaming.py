"""100,000 rows of JSON Lines through `sgi run -m rouge_l,squad_token_f1`: rows a second and peak memory.

python benchmarks/streaming.py [ROWS]
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = 100_000
WORDS = [
    "paris",
    "rome",
    "emma",
    "austen",
    "wrote",
    "the",
    "of",
    "a",
    "novel",
    "capital",
    "river",
    "tower",
    "built",
    "in",
    "1889",
    "and",
    "is",
    "was",
    "city",
]


def write_rows(path: Path, rows: int) -> None:
    """Rows of about 600 bytes, from a fixed seed."""
    chance = random.Random(0)  # noqa: S311 - data, not a secret

    def text(n: int) -> str:
        return " ".join(chance.choices(WORDS, k=n))

    with path.open("w", encoding="utf-8") as file:
        for row in range(rows):
            sample = {
                "id": str(row),
                "question": text(10),
                "contexts": [text(40), text(30)],
                "response": text(12),
                "reference": text(10),
            }
            file.write(json.dumps(sample) + "\n")


def main() -> None:
    """Write, run, report."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "rows.jsonl", Path(folder) / "out.jsonl"
        write_rows(data, rows)
        began = time.perf_counter()
        command = ["-m", "sgi", "run", str(data), "-m", "rouge_l,squad_token_f1", "-o", str(out), "-q"]
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        took = time.perf_counter() - began
        written = sum(1 for _ in out.open("rb"))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"{written:,} of {rows:,} rows in {took:.1f} s: {rows / took:,.0f} rows/s, peak memory {peak:,.0f} MB"
    )


if __name__ == "__main__":
    main()
