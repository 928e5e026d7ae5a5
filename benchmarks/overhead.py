"""Compare reading, scoring and storing with less work: a JSON parser alone, a metric alone, no database.

    python benchmarks/overhead.py [--quick]

It uses the bundled sample, so it needs no other data and no peer.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import orjson

import sgi
from harness import Figure, benchmark_main, processor_time, seconds_of, time_alternately
from material import SAMPLE, rows
from sgi.engine.run_options import RunOptions
from sgi.engine.runner import start_run
from sgi.io.dataset import open_dataset
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROWS = 5_000
BATCH = 256  # the batch size of the engine
REPEATS = 15
BOUND_ROUNDS = 10
"""The bound takes a tenth of the time or less, so one measurement has several rounds."""
METRIC = "rouge_l"


def sample_rows(count: int) -> list[dict[str, Any]]:
    """Return rows with an id, repeated until there are enough."""
    repeated = islice(cycle(rows(file=SAMPLE)), count)
    return [
        {
            "id": str(number),
            "question": row["question"],
            "contexts": [row["knowledge"]],
            "response": row["hallucinated_answer"],
            "reference": row["right_answer"],
        }
        for number, row in enumerate(repeated)
    ]


def metric_alone(samples: Sequence[Sample]) -> None:
    scorer = metric(METRIC)
    for start in range(0, len(samples), BATCH):
        scorer.score(Batch(tuple(samples[start : start + BATCH])), Features())


def read(path: Path) -> int:
    return sum(1 for _ in open_dataset(path).samples())


def parse(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for _ in map(orjson.loads, lines))


def store(path: Path, database: Path) -> None:
    database.unlink(missing_ok=True)
    anyio.run(start_run, RunOptions.of({"data": path, "metrics": (METRIC,)}, db=database))


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure alternately in one process, each on one core."""
    data = sample_rows(200 if quick else ROWS)
    samples = [Sample(**row) for row in data]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
        yield compare(
            f"sgi.evaluate, {METRIC}, {len(data):,} rows",
            "the metric alone",
            partial(sgi.evaluate, data, [METRIC]),
            partial(metric_alone, samples),
            repeats=1 if quick else REPEATS,
        )
        yield compare(
            f"read {len(data):,} rows of JSON Lines",
            "orjson alone",
            partial(read, path),
            partial(parse, path),
            repeats=1 if quick else REPEATS,
            rounds=1 if quick else 4,
        )
        yield compare(
            f"run stored in SQLite, {METRIC}, {len(data):,} rows",
            "sgi.evaluate of the same file",
            partial(store, path, Path(folder, "runs.db")),
            partial(sgi.evaluate, path, [METRIC]),
            repeats=1 if quick else 5,
            bound_rounds=1,
        )


def compare(
    name: str,
    beside: str,
    ours: Callable[[], object],
    bound: Callable[[], object],
    *,
    repeats: int,
    rounds: int = 1,
    bound_rounds: int = BOUND_ROUNDS,
) -> Figure:
    """Return how many times more processor time our work needs than its bound."""
    work_and_bound = {
        "ours": processor_time(ours, rounds=rounds),
        "bound": processor_time(bound, rounds=rounds * bound_rounds),
    }
    times = time_alternately(work_and_bound, repeats)
    return Figure(
        name,
        "s",
        times["ours"].median,
        times["bound"].median,
        beside,
        is_bound=True,
        higher_is_better=False,
        repeats=seconds_of(times),
    )


if __name__ == "__main__":
    benchmark_main(measure)
