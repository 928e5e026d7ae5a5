from __future__ import annotations

import threading

import anyio
import pytest

from sgi.engine.progress import Advanced
from sgi.engine.runner import RunContext, resume
from sgi.engine.spec import RunSpec
from sgi.store.run_queries import find_run, list_runs
from sgi_web import jobs as running
from sgi_web.jobs import Jobs, split_tags
from sgi_web.throttle import ServerBusyError
from support.kept_runs import rows, write_rows
from support.web_server import wait_until


@pytest.fixture
def jobs(site):
    made = Jobs(site.database, site.place)
    yield made
    made.close()


@pytest.fixture
def upload(tmp_path):
    """Make a file as an upload is kept, and the spec of its run."""

    def make(number=0, n=12, name=None, metrics=("squad_em",)):
        path = write_rows(tmp_path / f"upload-{number}.jsonl", rows(n))
        return RunSpec(data=path, metrics=metrics, name=name)

    return make


def test_an_upload_becomes_a_run_with_its_tags_and_its_file_goes(jobs, site, upload):
    spec = upload(name="mine")
    job = jobs.submit(spec, "rows.jsonl", ("b", "a"))
    wait_until(lambda: job.is_over)
    assert (job.state, job.problem) == ("finished", "")
    record = find_run(site.database, "mine")
    assert (record.id, record.tags, record.scored) == (job.run, ("a", "b"), 12)
    assert not spec.data.exists()
    assert jobs.find(job.id) is job
    assert jobs.unfinished() == []


def test_what_is_wrong_is_told_with_the_owners_name_of_the_file(jobs, tmp_path):
    path = tmp_path / "upload-1.jsonl"
    path.write_text('{"id": "1", "response": "x"}\n{"id": "2", "response": 3}\n')
    job = jobs.submit(RunSpec(data=path, metrics=("squad_em",)), "mine.jsonl")
    wait_until(lambda: job.is_over)
    assert job.state == "failed"
    assert job.problem.startswith("mine.jsonl:2: id '2': field 'response'")
    assert "upload-1" not in job.problem
    assert str(tmp_path) not in job.problem
    assert not path.exists()


def test_one_fault_does_not_stop_the_next(jobs, upload, monkeypatch):
    real, calls = running.start_run, []

    async def faulty(spec, around):
        calls.append(spec)
        if len(calls) == 1:
            raise RuntimeError("a bug")
        return await real(spec, around)

    monkeypatch.setattr(running, "start_run", faulty)
    first, second = (jobs.submit(upload(n), "rows.jsonl") for n in (1, 2))
    wait_until(lambda: second.is_over)
    assert (first.state, second.state) == ("failed", "finished")
    assert "RuntimeError" in first.problem
    assert "a bug" not in first.problem


@pytest.fixture
def held(monkeypatch):
    """Runs that wait, once they have begun, until the event is set."""
    real, begun, free = running.start_run, threading.Event(), threading.Event()
    at_once = []

    async def slow(spec, around):
        at_once.append(1)
        assert len(at_once) == 1, "one at a time"
        begun.set()
        await anyio.to_thread.run_sync(free.wait)
        try:
            return await real(spec, around)
        finally:
            at_once.clear()

    monkeypatch.setattr(running, "start_run", slow)
    yield begun, free
    free.set()


def test_one_runs_and_the_others_wait_up_to_a_bound(jobs, upload, held, monkeypatch):
    begun, free = held
    monkeypatch.setattr(running, "MAX_WAITING", 2)
    first = jobs.submit(upload(0), "a.jsonl")
    begun.wait(10)
    wait_until(lambda: first.state == "running")
    others = [jobs.submit(upload(n), "a.jsonl") for n in (1, 2)]
    assert [job.state for job in others] == ["waiting", "waiting"]
    assert jobs.unfinished() == [first, *others]
    with pytest.raises(ServerBusyError, match="are queued"):
        jobs.submit(upload(3), "a.jsonl")
    free.set()
    wait_until(lambda: all(job.is_over for job in others))
    assert {job.state for job in (first, *others)} == {"finished"}


def test_at_the_end_what_runs_can_go_on_and_what_waits_is_left_to_the_next_server(
    jobs, site, upload, monkeypatch
):
    inside = threading.Event()
    real = running.Jobs._on_event

    def heard(self, job, event):
        real(self, job, event)
        if isinstance(event, Advanced) and job.run is not None:
            inside.set()
            wait_until(lambda: self._closed)  # the next batch is not begun before the server ends

    monkeypatch.setattr(running.Jobs, "_on_event", heard)
    first = jobs.submit(upload(1, n=1200), "a.jsonl", ("kept",))
    behind = jobs.submit(upload(2), "b.jsonl")
    assert inside.wait(60)
    jobs.close()
    assert (first.state, behind.state) == ("stopped", "stopped")
    assert (first.spec.data.exists(), behind.spec.data.exists()) == (True, True)
    record = find_run(site.database, first.run)
    assert (record.tags, record.stopped, record.finished) == (("kept",), "interrupted", False)
    with pytest.raises(ServerBusyError):
        jobs.submit(upload(3), "c.jsonl")
    report = anyio.run(resume, first.spec, record, RunContext(site.place))
    assert report.summary.rows == 1200
    assert find_run(site.database, first.run).finished


def test_closing_while_a_file_is_read_begins_no_run(site, upload, monkeypatch):
    jobs = Jobs(site.database, site.place)
    real = running.Jobs._on_event

    def heard(self, job, event):
        self._closed = True
        real(self, job, event)

    monkeypatch.setattr(running.Jobs, "_on_event", heard)
    before = len(list_runs(site.database))
    spec = upload()
    job = jobs.submit(spec, "a.jsonl")
    wait_until(lambda: job.is_over)
    jobs.close()
    assert (job.state, job.run, spec.data.exists()) == ("stopped", None, False)
    assert len(list_runs(site.database)) == before


def test_tags_in_a_line():
    assert split_tags(" a, b ,,a, ") == ("a", "b")
    assert split_tags("") == ()
