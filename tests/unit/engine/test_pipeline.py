from __future__ import annotations

import json
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from sgi.engine.pipeline import Pipeline, prefetch
from sgi.engine.plan import plan
from sgi.engine.progress import Advanced, Finished, Started
from sgi.engine.resources import Resources
from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, EmbedderError
from sgi.testing.fakes import HashEmbedder

ROWS = [{"id": str(i), "question": f"q{i // 2}", "response": f"r{i}"} for i in range(600)]


def scored(data, *, embedder=None, rejects=None, listener=None, planned=None, **options):
    dataset = open_dataset(data)
    skip = None if rejects is None else (lambda _: None)
    planned = planned or plan(dataset, ["theta_rq"], on_reject=skip)
    resources = Resources({"hash": embedder or HashEmbedder()})
    heard = {} if listener is None else {"listener": listener}
    files = {name: options.pop(name) for name in ("output", "inputs") if name in options}
    pipeline = Pipeline(dataset, planned, resources, **heard, **options)
    return anyio.run(partial(pipeline.run, rejects=rejects, **files))


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_row_is_written_in_order_over_several_batches(tmp_path):
    report = scored(ROWS, output=tmp_path / "out.jsonl")
    assert [row["id"] for row in lines(tmp_path / "out.jsonl")] == [row["id"] for row in ROWS]
    assert report.summary.rows == 600
    assert report.summary.questions == 300
    assert (report.failures, report.rejected) == (0.0, 0)


def test_the_listener_hears_the_stage_and_all_rows():
    heard = []
    scored(ROWS, listener=heard.append)
    assert heard[0] == Started("scoring", 600)
    assert sum(event.rows for event in heard if isinstance(event, Advanced)) == 600
    assert heard[-1] == Finished("scoring")


def test_rejected_rows_are_written_with_place_and_reason(tmp_path):
    rows = [ROWS[0], {"id": "bad", "question": 7, "response": "r"}, ROWS[1]]
    report = scored(rows, output=tmp_path / "out.jsonl", rejects=tmp_path / "bad.jsonl")
    assert (report.rejected, report.summary.rows) == (1, 2)
    (rejected,) = lines(tmp_path / "bad.jsonl")
    assert (rejected["line"], rejected["id"], rejected["field"]) == (2, "bad", "question")
    assert rejected["row"]["question"] == 7
    assert "expected text" in rejected["reason"]


def test_no_rejects_no_file(tmp_path):
    scored(ROWS[:3], rejects=tmp_path / "bad.jsonl")
    assert list(tmp_path.iterdir()) == []


class DownAfter(HashEmbedder):
    """Works for some calls, then gives up."""

    def __init__(self, calls):
        super().__init__()
        self.left = calls

    def embed(self, texts, /):
        self.left -= 1
        if self.left < 0:
            raise EmbedderError("the server is down")
        return super().embed(texts)


def test_too_many_failures_stop_the_run_and_leave_no_file(tmp_path):
    with pytest.raises(EmbedderError, match="50"):
        scored(ROWS, embedder=DownAfter(1), output=tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_tolerated_failures_are_rows_with_reasons(tmp_path):
    report = scored(ROWS, embedder=DownAfter(2), output=tmp_path / "out.jsonl", max_failures=0.2)
    assert report.failures == pytest.approx(88 / 600)
    last = lines(tmp_path / "out.jsonl")[-1]["scores"]["theta_rq"]
    assert last == {"value": None, "status": "failed", "reason": "the server is down"}


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS[:3]))
    planned = plan(open_dataset(path), ["theta_rq"])
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS[:2]))
    with pytest.raises(DataError):
        scored(path, planned=planned, output=tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_the_reason_for_stopping_is_that_of_a_failure():
    rows = [*ROWS[:4], {"id": "last", "question": "q", "response": " "}]
    with pytest.raises(EmbedderError):
        scored(rows, embedder=DownAfter(0))


async def same(item):
    return item


def test_takes_in_order_whatever_is_ready_first():
    taken = []

    async def prepare(n):
        await anyio.sleep(0.02 if n % 2 else 0)
        return n

    async def take(n):
        taken.append(n)

    anyio.run(lambda: prefetch(range(9), prepare, take, depth=3))
    assert taken == list(range(9))


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_no_more_than_depth_are_under_way(depth):
    under_way, most = 0, 0

    async def prepare(n):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await anyio.lowlevel.checkpoint()
        return n

    async def take(_):
        nonlocal under_way
        await anyio.sleep(0.005)  # the others have all the time to get ahead
        under_way -= 1

    anyio.run(lambda: prefetch(range(20), prepare, take, depth=depth))
    assert most == depth


@pytest.mark.parametrize("where", ["items", "prepare", "take"])
def test_an_error_comes_out_as_it_is(where):
    def items():
        yield 1
        if where == "items":
            raise KeyError("items")

    def station(name):
        async def stop(item):
            if where == name:
                raise KeyError(name)
            return item

        return stop

    with pytest.raises(KeyError, match=where):
        anyio.run(lambda: prefetch(items(), *map(station, ("prepare", "take")), depth=3))


def test_what_was_taken_before_an_error_stays_taken():
    taken = []

    async def take(n):
        if n == 3:
            raise ValueError("three")
        taken.append(n)

    with pytest.raises(ValueError, match="three"):
        anyio.run(lambda: prefetch([1, 2, 3, 4], same, take, depth=2))
    assert taken == [1, 2]


def test_nothing_is_nothing():
    async def never(_):
        raise AssertionError

    anyio.run(lambda: prefetch([], never, never, depth=3))
