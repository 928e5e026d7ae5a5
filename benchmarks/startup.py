"""How long until it does something: `import sgi`, the public names, and a cold `sgi compute`.

    python benchmarks/startup.py

Prints medians of fresh processes, and their ratio to starting Python itself.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 9
COMPUTE = ["-m", "sgi", "compute", "--q", "Who wrote Emma?", "--c", "Jane Austen wrote it.", "--r", "Austen."]
WORK = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import sgi": ["-c", "import sgi"],
    "import sgi; sgi.compute_sgi": ["-c", "import sgi; sgi.compute_sgi"],
    "import sgi; sgi.evaluate": ["-c", "import sgi; sgi.evaluate"],
    "sgi --help": ["-m", "sgi", "--help"],
    "sgi compute, cold": COMPUTE,
}


def seconds(arguments: list[str]) -> float:
    """Wall time of one fresh process."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    """Measure all in turn, several times, so that a busy moment hits each alike."""
    times: dict[str, list[float]] = {name: [] for name in WORK}
    for _ in range(RUNS):
        for name, arguments in WORK.items():
            times[name].append(seconds(arguments))
    bare = statistics.median(times["python"])
    print(f"{'work':<30}{'median':>10}{'least':>10}{'× python':>10}")
    for name, found in times.items():
        middle = statistics.median(found)
        print(f"{name:<30}{middle * 1000:>7.0f} ms{min(found) * 1000:>7.0f} ms{middle / bare:>10.1f}")


if __name__ == "__main__":
    main()
