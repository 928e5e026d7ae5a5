"""Run the four RAGAS metrics on 10,000 rows: speed, memory, and the calls of a second run.

The judge runs in the same process and replies immediately; everything else is as in `sgi run`.

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
MAX_MEGABYTES = 1000


class Scripted:
    """A model that replies immediately with the example of the prompt."""

    fingerprint = "scripted"

    def __init__(self) -> None:
        metrics = [metric(name) for name in METRICS]
        prompts = [prompt for one in metrics if isinstance(one, JudgedMetric) for prompt in one.prompts]
        self._prompts: dict[str, Prompt] = {prompt.system: prompt for prompt in prompts}

    async def complete(self, call: Call, /) -> Completion:
        """Return the reply of the first example, with as many entries as the schema requires."""
        reply = self._prompts[call.messages[0].text].examples[0].reply
        model = reply.typical(reply, _entries(call.shape.text))
        return Completion(model.model_dump_json(), input_tokens=700, output_tokens=60)


def _entries(schema: str) -> int | None:
    """Return the number of verdicts that the schema requires; None if it has no list of verdicts."""
    count = json.loads(schema)["properties"].get("verdicts", {}).get("minItems")
    return None if count is None else int(count)


def score(data: Path, folder: Path) -> tuple[float, Usage]:
    """Return the seconds of a run, and the usage of its judge."""
    counter = UsageCounter()
    spec = RunSpec(data=data, metrics=METRICS)
    dataset = open_dataset(data)
    start = time.perf_counter()
    with (
        SqliteCache(folder / "replies.db") as replies,
        open_database(folder / "runs.db") as database,
        open_models([metric(name) for name in METRICS], cache=folder / "vectors.db") as models,
    ):
        settings = JudgeSpec(model="openai:scripted@http://127.0.0.1:1/v1", concurrency=64)
        judge = ChatJudge(wrapped_chat(Scripted(), settings, replies, counter), counter=counter)
        resources = replace(models, judge=judge)
        run_plan = plan(dataset, METRICS)
        recording = begin_recording(database, spec, run_plan, resources)
        report = anyio.run(Pipeline(dataset, run_plan, resources, recording=recording).run)
    if any(one.ok != run_plan.rows for one in report.summary.metrics):
        raise SystemExit(f"Some rows have no value:\n{report.summary}")
    return time.perf_counter() - start, judge.usage


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure two equal runs and the peak memory."""
    rows = 200 if quick else ROWS
    work = f"{rows:,} rows × {len(METRICS)} judged metrics"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows.jsonl", rows)
        seconds, usage = score(folder / "rows.jsonl", folder)
        note = f"{usage.calls:,} calls of a model that replies immediately"
        yield Figure(f"{work}, first run", "rows/s", rows / seconds, note=note)
        seconds, usage = score(folder / "rows.jsonl", folder)
        yield Figure(f"{work}, second run", "rows/s", rows / seconds)
        yield Figure(f"{work}, second run", "calls", usage.calls, wanted=0, higher_is_better=False)
    memory = peak_megabytes()
    yield Figure(f"{work}, peak memory", "MB", memory, wanted=MAX_MEGABYTES, higher_is_better=False)


if __name__ == "__main__":
    benchmark_main(measure)
