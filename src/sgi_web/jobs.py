"""Scores uploads one at a time in a background thread."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections import OrderedDict, deque
from contextlib import suppress
from threading import Condition, Thread
from typing import TYPE_CHECKING, cast

import anyio

from sgi.engine.progress import Advanced, Embedded, Finished, Judged, RunBegan, Started
from sgi.engine.runner import RunContext, resume, start_run
from sgi.kernel.errors import SgiError, UsageError
from sgi.kernel.judged_metric import judged_metrics
from sgi.reporting.views.run_views import make_views
from sgi.store.run_queries import find_run, run_usage
from sgi.store.run_writer import open_recorder
from sgi_web.job_records import Job, JobRecord, restore_jobs
from sgi_web.throttle import ServerBusyError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

    from sgi.engine.progress import Event
    from sgi.engine.spec import RunSpec
    from sgi.llm.spec import JudgeSpec
    from sgi.store.database import Database
    from sgi_web.job_records import State

MAX_WAITING = 20
_MAX_KNOWN = 200
_KILLED = "the server stopped while this upload was being scored"


class _StopRequestedError(Exception):
    """Raised in the thread of a job if it is cancelled, or the server stops, before the run has begun."""


class Jobs:
    """The uploads of a server, in order of arrival.

    Args:
        place: the argument of ``open_database``.
        judge: the judge of uploads; None if they have none.
        budget: maximum cost of the judge for all uploads of this process, in US dollars; None for any.
    """

    def __init__(
        self,
        database: Database,
        place: str | Path | None,
        judge: JudgeSpec | None = None,
        budget: float | None = None,
    ) -> None:
        self._database = database
        self._place = place
        self._judge = judge
        self._budget = budget
        self._costs: dict[str, float] = {}
        self._known: OrderedDict[str, Job] = OrderedDict()
        self._waiting: deque[Job] = deque()
        self._changed = Condition()
        self._closed = False
        self._thread: Thread | None = None
        self._working: tuple[asyncio.AbstractEventLoop, anyio.CancelScope] | None = None

    def submit(self, spec: RunSpec, shown: str, tags: tuple[str, ...] = ()) -> Job:
        """Record an upload on disk and queue it; its file is removed when it is no longer needed.

        Raises:
            ServerBusyError: too many uploads wait, or the server is stopping.
            StoreError: it cannot be recorded, for example because the disk is full.
        """
        job = Job(secrets.token_urlsafe(12), spec, shown, tags)
        with self._changed:
            self._require_capacity()
            facts = {"id": job.id, "spec": spec.to_dict(), "shown": shown, "tags": list(tags)}
            job.record = JobRecord.create(spec.data.parent, job.id, facts)
            self._add(job)
        return job

    def _require_capacity(self) -> None:
        if self._closed or len(self._waiting) >= MAX_WAITING:
            raise ServerBusyError("Too many uploads are queued.", hint="Try again later.")

    def restore(self, folder: Path) -> None:
        """Restore the uploads that an earlier server accepted and did not finish.

        Waiting uploads are queued again. An upload that was being scored is not restarted, since it may have
        crashed the server; its page explains how to resume the run.
        """
        for job in restore_jobs(folder):
            with self._changed:
                if job.state == "waiting" and job.spec.data.is_file():
                    os.utime(job.spec.data)  # prevents its removal as a leftover
                    self._add(job)
                else:
                    self._known[job.id] = job
                    self._interrupt(job)

    def _interrupt(self, job: Job) -> None:
        """Mark an upload and its run as interrupted by the end of the server."""
        job.state = "stopped"
        with suppress(SgiError):
            if job.run is None:
                return
            record = find_run(self._database, job.run)
            if record.finished:
                job.state = "finished"
            elif record.stopped is None:
                open_recorder(self._database, record).stop(_KILLED)

    def _add(self, job: Job) -> None:
        """Queue a job; the caller holds the condition."""
        self._known[job.id] = job
        while len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)
        self._waiting.append(job)
        if self._thread is None:
            self._thread = Thread(target=self._work, name="sgi-uploads", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def find(self, job_id: str) -> Job | None:
        """Return the job with this id; None if this process does not have it."""
        with self._changed:
            return self._known.get(job_id)

    def unfinished(self) -> list[Job]:
        """Return the waiting and running jobs, in order of arrival."""
        with self._changed:
            return [job for job in self._known.values() if not job.is_over]

    def cancel(self, job: Job) -> bool:
        """Cancel a job: its finished batches stay stored, and it can be resumed.

        Return whether this call cancelled it; False if it has ended, or is cancelled already.
        """
        with self._changed:
            if job.is_over or job.cancelled:
                return False
            job.cancelled = True
            job.note({"cancelled": True})
            if job in self._waiting:
                self._waiting.remove(job)
                job.state = "stopped"
                self._clean_up(job)
            elif self._working is not None:  # without it, the job stops before it begins
                loop, scope = self._working
                loop.call_soon_threadsafe(scope.cancel)
            return True

    def resume(self, job: Job) -> bool:
        """Queue a job that ended early again; its run is resumed, and its failed rows are scored again.

        Return whether this call queued it; False if it cannot be resumed.

        Raises:
            ServerBusyError: too many uploads wait, or the server is stopping.
        """
        with self._changed:
            if not job.can_resume:
                return False
            self._require_capacity()
            job.state, job.problem, job.cancelled = "waiting", "", False
            self._add(job)
            return True

    def budget_left(self, job: Job | None = None) -> float | None:
        """Return what the judge may still cost in US dollars, and has cost for this job; None for any."""
        if self._budget is None:
            return None
        own = None if job is None else job.run
        return self._budget - sum(cost for run, cost in self._costs.items() if run != own)

    def close(self, seconds: float = 30.0) -> None:
        """Stop the running job so that it can be resumed; waiting jobs stay recorded for the next server."""
        with self._changed:
            self._closed = True
            waiting = list(self._waiting)
            self._waiting.clear()
            if self._working is not None:
                loop, scope = self._working
                loop.call_soon_threadsafe(scope.cancel)
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)
        for job in waiting:
            job.state = "stopped"
        for job in self._known.values():
            if job.record is not None:
                job.record.close()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._waiting)
                if self._closed:
                    return
                job = self._waiting.popleft()
                job.state = "running"
            self._do(job)

    def _do(self, job: Job) -> None:
        """Score one upload; record an error instead of raising it, so that the thread continues."""
        job.note({"started": True})
        state: State = "failed"
        try:
            state = anyio.run(self._score, job)
        except _StopRequestedError:
            state = "stopped"
        except SgiError as error:
            job.problem = job.error_text(error)
        except Exception as error:  # noqa: BLE001 - a bug in one run must not end the others
            job.problem = f"Internal error in SGI: {type(error).__name__}. Please report it."
        self._count_cost(job)
        with self._changed:  # otherwise the job could be resumed before its record is removed
            job.state = state
            self._clean_up(job)

    def _clean_up(self, job: Job) -> None:
        """Delete the file of a job that cannot be resumed, and its record if no later server needs it.

        The caller holds the condition.
        """
        can_resume = job.state != "finished" and job.run is not None
        if not can_resume:
            job.spec.data.unlink(missing_ok=True)
        if job.record is not None and (job.state != "stopped" or (job.cancelled and not can_resume)):
            job.record.remove()
            job.record = None

    def _count_cost(self, job: Job) -> None:
        """Add the cost of the judge for this job to that of the server."""
        if job.run is not None and self._judge is not None:
            with suppress(SgiError):
                usages = run_usage(self._database, job.run).values()
                self._costs[job.run] = sum(usage.cost or 0.0 for usage in usages)

    def _with_judge(self, job: Job) -> RunSpec:
        """Return the spec with the judge of this server, if a metric needs it, and with its remaining budget.

        Raises:
            UsageError: the budget is used up.
        """
        if self._judge is None or not judged_metrics(job.spec.named_metrics or ()):
            return job.spec
        left = self.budget_left(job)
        if left is not None and left <= 0:
            hint = "Restart the server with a higher --judge-budget, or use metrics without a judge."
            raise UsageError("The judge budget of this server is used up.", hint=hint)
        judge = self._judge if left is None else self._judge.model_copy(update={"max_cost": left})
        return job.spec.model_copy(update={"judge": judge})

    async def _score(self, job: Job) -> State:
        spec = self._with_judge(job)
        scope = anyio.CancelScope()
        with self._changed:
            if self._closed or job.cancelled:
                raise _StopRequestedError
            self._working = (asyncio.get_running_loop(), scope)
        try:
            with scope:
                context = RunContext(
                    self._place, listener=lambda event: self._on_event(job, event), tags=job.tags
                )
                if job.run is None:
                    await start_run(spec, context)
                else:
                    record = find_run(self._database, job.run)
                    await resume(spec, record, context, retry_failed=True)
        finally:
            with self._changed:
                self._working = None
        if scope.cancelled_caught:
            return "stopped"
        if job.run is not None:
            with suppress(SgiError):  # the run is finished; its views can be computed on request
                make_views(self._database, job.run)
        return "finished"

    def _on_event(self, job: Job, event: Event) -> None:
        match event:
            case RunBegan(run):
                job.run = run
                job.note({"run": run})
            case Started(stage, total):
                job.stage, job.scored, job.done, job.total = stage, 0, 0, total
                job.judged, job.began = None, time.monotonic()
            case Advanced(rows):
                job.scored += rows
                job.done = job.scored
            case Embedded():
                job.done = job.scored + int(event.row_share)
            case Judged(done, total):
                job.judged = (done, total)
            case Finished():
                job.stage = ""
        if (self._closed or job.cancelled) and job.run is None:
            raise _StopRequestedError


def split_tags(text: str) -> tuple[str, ...]:
    """Split comma-separated tags."""
    return tuple(dict.fromkeys(tag for tag in map(str.strip, text.split(",")) if tag))


def jobs_of(request: Request) -> Jobs:
    """Return the jobs of the application."""
    return cast("Jobs", request.app.state.jobs)
