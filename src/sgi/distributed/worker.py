"""What a worker holds: one engine, opened once, through which fragments go one after the other."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal

from sgi.distributed.error_codec import packed
from sgi.distributed.fragments import Fragment, FragmentDataset
from sgi.distributed.partition import Manifest, write_partition
from sgi.distributed.scan import FragmentSurvey
from sgi.distributed.storage import Folder
from sgi.engine.open_resources import ResourceOptions, open_resources
from sgi.engine.plan import merge_metrics, resolve
from sgi.engine.spec import RunSpec
from sgi.kernel.errors import SgiError, UsageError

if TYPE_CHECKING:
    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.llm.spec import JudgeSpec


@dataclass(frozen=True)
class Settings:
    """What every worker of a run is told.

    Attributes:
        spec: how the run was asked for, as `RunSpec.stored` gives it, its metrics named.
        run: the hash that tells runs apart.
        folder: where partitions are written.
        cache: a file for vectors, the cache of each machine's user (True), or none (False).
        workers: how many there are.
        threads: the cores that each of them may use.
        retry_failed: request cached judge replies again if they were unusable.
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
        """The spec."""
        return RunSpec.of(self.spec)

    @cached_property
    def metrics(self) -> tuple[AnyMetric, ...]:
        """What is scored."""
        return merge_metrics(resolve(self.run_spec.metrics or ()), self.run_spec.extra_metrics)


@dataclass(frozen=True)
class Task:
    """A fragment that is still to be scored.

    Attributes:
        number: its place among all.
        name: of its partition.
        fragment: the part of a file.
        survey: what was found in it; its ids stay with the driver.
    """

    number: int
    name: str
    fragment: Fragment
    survey: FragmentSurvey

    def to_json(self) -> str:
        """The task as JSON."""
        return json.dumps(asdict(replace(self, survey=replace(self.survey, ids=""))))

    @classmethod
    def from_json(cls, text: str) -> Task:
        """The task that `to_json` wrote."""
        values = json.loads(text)
        parts = Fragment.from_dict(values["fragment"]), FragmentSurvey.from_dict(values["survey"])
        return cls(values["number"], values["name"], *parts)


def divided(judge: JudgeSpec, workers: int) -> JudgeSpec:
    """The judge as each of the workers may ask it: all together keep its limits, as long as none is replaced.

    What a worker has asked is known to itself alone: one that takes the place of a worker that died begins
    its share of ``max_cost`` anew, as does every worker of a run that goes on. So ``max_cost`` bounds what is
    spent between such events, and all of it where there are none.

    Raises:
        UsageError: there are more workers than requests at once.

    >>> from sgi.llm.spec import JudgeSpec
    >>> divided(JudgeSpec(model="openai:m", concurrency=16, rpm=90), 3).rpm
    30.0
    """
    if judge.concurrency < workers:
        hint = f"Name at most {judge.concurrency} workers, or raise --judge-concurrency."
        raise UsageError(f"{workers} workers cannot share {judge.concurrency} requests at once.", hint=hint)
    limits = {name: getattr(judge, name) for name in ("rpm", "tpm", "max_cost")}
    shares = {name: limit / workers for name, limit in limits.items() if limit is not None}
    return judge.model_copy(update={"concurrency": judge.concurrency // workers, **shares})


def open_worker_resources(settings: Settings) -> AbstractAsyncContextManager[Resources]:
    """The models and the judge of a worker, open until the context ends.

    Raises:
        SgiError: a model, a key or an extra is missing.
    """
    spec = settings.run_spec
    options = replace(
        ResourceOptions.of(spec),
        judge=None if spec.judge is None else divided(spec.judge, settings.workers),
        threads=settings.threads,
        cache=settings.cache,
        retry_failed=settings.retry_failed,
    )
    return open_resources(settings.metrics, options)


class Worker:
    """Scores fragments, and writes their partitions.

    Args:
        settings: what every worker of the run is told.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._held = ExitStack()
        self._portal = self._held.enter_context(start_blocking_portal())

    @cached_property
    def _tools(self) -> Resources:
        opening = self._portal.wrap_async_context_manager(open_worker_resources(self.settings))
        return self._held.enter_context(opening)

    def score(self, text: str, /) -> str:
        """Score one fragment.

        Args:
            text: a `Task`, as JSON.

        Returns:
            The number of its partition and its manifest, or the error that ends the run, as JSON.
        """
        task = Task.from_json(text)
        try:
            manifest = self._portal.call(self._write, task, self._tools)
        except SgiError as error:
            return json.dumps({"error": packed(error)})
        return json.dumps({"number": task.number, "manifest": asdict(manifest)})

    async def _write(self, task: Task, resources: Resources) -> Manifest:
        spec = self.settings.run_spec
        return await write_partition(
            Folder(self.settings.folder),
            task.name,
            Manifest(self.settings.run, task.survey.digest),
            FragmentDataset(task.fragment, spec.columns, task.survey.taken),
            task.survey.plan(task.fragment, self.settings.metrics),
            resources,
            inputs=spec.inputs,
        )

    def close(self) -> None:
        """Let go of all that is open."""
        self._held.close()


def cache_of(cache: bool | str | Path) -> bool | str:
    """A choice of cache that holds in any folder."""
    return cache if isinstance(cache, bool) else str(Path(cache).resolve())
