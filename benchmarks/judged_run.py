"""The four RAGAS metrics over 10,000 rows through the engine: memory, speed, and what a second run asks.

The judge is a script in the same process that answers at once; everything else is as in `sgi run`.

    python benchmarks/judged_run.py [--quick]
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from harness import Figure, benchmark_main, peak_megabytes
from material import write_rows
from sgi.engine.open_resources import open_models
from sgi.engine.pipeline import Pipeline
from sgi.engine.plan import plan
from sgi.engine.run_recorder import begin_recording
from sgi.engine.spec import RunSpec
from sgi.io.dataset import open_dataset
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric
from sgi.llm.calls import Completion
from sgi.llm.judge import ChatJudge
from sgi.llm.load import wrapped_chat
from sgi.llm.spec import JudgeSpec
from sgi.llm.usage import UsageCounter
from sgi.store.cache import SqliteCache
from sgi.store.database import open_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.kernel.prompts import Prompt
    from sgi.kernel.protocols import Usage
    from sgi.llm.calls import Call

ROWS = 10_000
METRICS = ("faithfulness", "context_precision", "context_recall", "answer_relevance")
MOST_MEGABYTES = 1000


class Scripted:
    """A model that answers at once, with each prompt's own example."""

    fingerprint = "scripted"

    def __init__(self) -> None:
        found = [metric(name) for name in METRICS]
        prompts = [prompt for made in found if isinstance(made, JudgedMetric) for prompt in made.prompts]
        self._prompts: dict[str, Prompt] = {prompt.system: prompt for prompt in prompts}

    async def complete(self, call: Call, /) -> Completion:
        """The first example's reply, with as many entries as the schema wants."""
        reply = self._prompts[call.messages[0].text].examples[0].reply
        model = reply.typical(reply, _entries(call.shape.text))
        return Completion(model.model_dump_json(), input_tokens=700, output_tokens=60)


def _entries(schema: str) -> int | None:
    """How many verdicts the schema wants; None where it wants no list of them."""
    listed = json.loads(schema)["properties"].get("verdicts", {})
    wanted = listed.get("minItems")
    return None if wanted is None else int(wanted)


def judged(data: Path, folder: Path) -> tuple[float, Usage]:
    """Seconds for a whole run, and what its judge was asked."""
    counter = UsageCounter()
    spec = RunSpec(data=data, metrics=METRICS)
    dataset = open_dataset(data)
    began = time.perf_counter()
    with (
        SqliteCache(folder / "replies.db") as replies,
        open_database(folder / "runs.db") as database,
        open_models([metric(name) for name in METRICS], cache=folder / "vectors.db") as opened,
    ):
        settings = JudgeSpec(model="openai:scripted@http://127.0.0.1:1/v1", concurrency=64)
        judge = ChatJudge(wrapped_chat(Scripted(), settings, replies, counter), counter=counter)
        resources = replace(opened, judge=judge)
        whole = plan(dataset, METRICS)
        recording = begin_recording(database, spec, whole, resources)
        report = anyio.run(Pipeline(dataset, whole, resources, recording=recording).run)
    if any(made.ok != whole.rows for made in report.summary.metrics):
        raise SystemExit(f"not every row has a value:\n{report.summary}")
    return time.perf_counter() - began, judge.usage


def measure(*, quick: bool) -> Iterator[Figure]:
    """The run twice, and what the process held."""
    rows = 200 if quick else ROWS
    work = f"{rows:,} rows × {len(METRICS)} judged metrics"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows.jsonl", rows)
        seconds, usage = judged(folder / "rows.jsonl", folder)
        note = f"{usage.calls:,} calls of a model that answers at once"
        yield Figure(f"{work}, first run", "rows/s", rows / seconds, note=note)
        seconds, usage = judged(folder / "rows.jsonl", folder)
        yield Figure(f"{work}, second run", "rows/s", rows / seconds)
        yield Figure(f"{work}, second run", "calls", usage.calls, wanted=0, higher_is_better=False)
    memory = peak_megabytes()
    yield Figure(f"{work}, peak memory", "MB", memory, wanted=MOST_MEGABYTES, higher_is_better=False)


if __name__ == "__main__":
    benchmark_main(measure)
