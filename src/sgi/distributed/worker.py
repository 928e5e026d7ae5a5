"""The worker of a run on a cluster: opens the resources once, and scores fragments one after another."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal

from sgi.distributed.error_codec import encode_error
from sgi.distributed.fragments import Fragment, FragmentDataset
from sgi.distributed.partition import Manifest, write_partition
from sgi.distributed.scan import FragmentScan
from sgi.distributed.storage import Folder
from sgi.engine.open_resources import ResourceOptions, open_resources
from sgi.engine.plan import merge_metrics
from sgi.engine.spec import RunSpec
from sgi.kernel.errors import SgiError, UsageError

if TYPE_CHECKING:
    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.llm.spec import JudgeSpec


@dataclass(frozen=True)
class Settings:
    """Settings that are equal for all workers.

    Attributes:
        spec: settings of the run, with all metrics named and absolute paths.
        run: hash that identifies the run.
        folder: folder of the partitions.
        cache: where vectors are stored: a file, the user's cache on each machine (True), or nowhere (False).
        threads: number of cores per worker.
        retry_failed: whether unusable cached replies of the judge are requested again.
    """

    spec: dict[str, Any]
    run: str
    folder: str
    cache: bool | str
    workers: int
    threads: int
    retry_failed: bool = False

    @cached_property
    def run_spec(self) -> RunSpec:
        """The parsed settings of the run."""
        return RunSpec.of(self.spec)

    @cached_property
    def metrics(self) -> tuple[AnyMetric, ...]:
        """The metrics to score."""
        return merge_metrics(self.run_spec.named_metrics or (), self.run_spec.extra_metrics)


@dataclass(frozen=True)
class Task:
    """A fragment to score, its number, its scan without ids, and the name of its partition."""

    number: int
    name: str
    fragment: Fragment
    scan: FragmentScan

    def to_json(self) -> str:
        """Convert to JSON text."""
        return json.dumps(asdict(replace(self, scan=replace(self.scan, ids=""))))

    @classmethod
    def from_json(cls, text: str) -> Task:
        """Read the task that `to_json` wrote."""
        values = json.loads(text)
        parts = Fragment.from_dict(values["fragment"]), FragmentScan.from_dict(values["scan"])
        return cls(values["number"], values["name"], *parts)


def share_judge(judge: JudgeSpec, workers: int) -> JudgeSpec:
    """Divide the limits of the judge among the workers.

    A worker counts only its own requests. If a dead worker is replaced, or a run is resumed, the new worker
    starts its share of ``max_cost`` again, so ``max_cost`` limits only the cost between such events. Raises
    UsageError if there are more workers than concurrent requests.

    >>> from sgi.llm.spec import JudgeSpec
    >>> share_judge(JudgeSpec(model="openai:m", concurrency=16, rpm=90), 3).rpm
    30.0
    """
    if judge.concurrency < workers:
        hint = f"Name at most {judge.concurrency} workers, or raise the judge's `concurrency`."
        raise UsageError(f"{workers} workers cannot share {judge.concurrency} requests at once.", hint=hint)
    limits = {name: getattr(judge, name) for name in ("rpm", "tpm", "max_cost")}
    shares = {name: limit / workers for name, limit in limits.items() if limit is not None}
    return judge.model_copy(update={"concurrency": judge.concurrency // workers, **shares})


def open_worker_resources(settings: Settings) -> AbstractAsyncContextManager[Resources]:
    """Open the models and the judge of a worker. Raises SgiError if a model, a key or an extra is missing."""
    spec = settings.run_spec
    options = replace(
        ResourceOptions.of(spec),
        judge=None if spec.judge is None else share_judge(spec.judge, settings.workers),
        threads=settings.threads,
        cache=settings.cache,
        retry_failed=settings.retry_failed,
    )
    return open_resources(settings.metrics, options)


class Worker:
    """Scores fragments and writes their partitions."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._exit_stack = ExitStack()
        self._portal = self._exit_stack.enter_context(start_blocking_portal())

    @cached_property
    def _resources(self) -> Resources:
        opening = self._portal.wrap_async_context_manager(open_worker_resources(self.settings))
        return self._exit_stack.enter_context(opening)

    def score(self, text: str, /) -> str:
        """Score the fragment of a `Task` in JSON.

        Returns JSON: partition number and manifest, or the error that ends the run.
        """
        task = Task.from_json(text)
        try:
            manifest = self._portal.call(self._write, task, self._resources)
        except SgiError as error:
            return json.dumps({"error": encode_error(error)})
        return json.dumps({"number": task.number, "manifest": asdict(manifest)})

    async def _write(self, task: Task, resources: Resources) -> Manifest:
        spec = self.settings.run_spec
        return await write_partition(
            Folder(self.settings.folder),
            task.name,
            Manifest(self.settings.run, task.scan.digest),
            FragmentDataset.of(task.fragment, spec, task.scan.taken),
            task.scan.plan(task.fragment, self.settings.metrics),
            resources,
            inputs=spec.inputs,
        )

    def close(self) -> None:
        """Close all resources."""
        self._exit_stack.close()


def resolve_cache(cache: bool | str | Path) -> bool | str:
    """Make the cache path absolute."""
    return cache if isinstance(cache, bool) else str(Path(cache).resolve())
