"""Runs the store with too little memory for SQLite, in a separate process: the limit cannot be raised again.

It repeats each step of a run and of a cache with a little more memory until the step succeeds. Between two
attempts the memory is free. All attempts use the same objects.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import StoreError
from sgi.kernel.metric import Scores
from sgi.kernel.protocols import Usage
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.store.cache import SqliteCache
from sgi.store.database import open_database, status
from sgi.store.run_queries import find_run
from sgi.store.samples import StoredAnswer
from sgi.store.stored_batches import stored_batches
from sgi.store.writer import Setup, create_run, open_writer
from support.runs import bare_summary, contents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = 16 << 20
MAX_MEMORY = 4 << 20
"""Bytes that are enough for every step."""
ROWS = 60
METRICS = (metric("sgi"),)
SAMPLES = [Sample(id=f"q{n}", question=f"Which {n}?", contexts=("x" * 400,)) for n in range(ROWS)]
VALUES = {bytes([n]): bytes([n]) * 3000 for n in range(40)}


def limit_memory() -> None:
    """Give SQLite at most ``LIMIT`` bytes in this process."""
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute(f"PRAGMA hard_heap_limit = {LIMIT}").fetchone() == (LIMIT,)


@contextmanager
def free_memory(size: int) -> Iterator[None]:
    """Leave about ``size`` bytes of memory to SQLite inside the block."""
    with closing(sqlite3.connect(":memory:")) as connection:
        spare = connection.execute("SELECT CAST(zeroblob(?) AS TEXT)", (size + 1,))
        held = []
        for part in (1 << 20, 1 << 16, 1 << 12, 1 << 8):
            with suppress(MemoryError):
                while True:
                    held.append(connection.execute("SELECT CAST(zeroblob(?) AS TEXT)", (part,)))
        spare.close()
        yield
        for cursor in held:
            cursor.close()


def sizes() -> Iterator[int]:
    """Bytes from nothing to ``MAX_MEMORY``, each half more than the one before."""
    size = 256
    while size < MAX_MEMORY:
        yield size
        size += size // 2


class Attempts:
    """Runs steps with too little memory, and records their errors.

    Attributes:
        path: the SQLite file that the steps use.
        refused: number of attempts that raised StoreError, by step.
        messages: the distinct error messages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refused: dict[str, int] = defaultdict(int)
        self.messages: set[str] = set()

    def __call__(self, name: str, step: Callable[[], Any]) -> Any:
        """Repeat the step with more memory until it succeeds; return its result."""
        for size in sizes():
            try:
                with free_memory(size):
                    return step()
            except StoreError as error:
                self.refused[name] += 1
                self.messages.add(str(error).replace(str(self.path), "FILE"))
            self._check_unlocked()
        raise AssertionError(f"{name} needs more than {MAX_MEMORY} bytes")

    def _check_unlocked(self) -> None:
        if self.path.exists():
            with closing(sqlite3.connect(self.path, timeout=0, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")


def run_directly(_: str, step: Callable[[], Any]) -> Any:
    """Run the step with all memory."""
    return step()


def interrupted_run(path: Path, attempt: Callable[[str, Callable[[], Any]], Any]) -> dict[str, Any]:
    """Store a run that is interrupted and resumed; return the content of the tables."""
    start = Setup("hash", "rows", ROWS, {}, "spec", "sgi:1", {}, METRICS)
    half = ROWS // 2
    scores = {"sgi": Scores.of(np.arange(half) / 7)}
    answers = {n: StoredAnswer("z" * 200) for n in range(ROWS)}

    def commit(first: int) -> Callable[[], None]:
        part = SAMPLES[first : first + half]
        return lambda: writer.put(first, part, scores)

    with closing(attempt("open", lambda: open_database(path))) as database:
        writer = attempt("create", lambda: create_run(database, start))
        attempt("answers", lambda: writer.put_answers(answers))
        attempt("usage", lambda: writer.put_usage({"judge": Usage()}))
        attempt("commit", commit(0))
        attempt("stop", lambda: writer.stop("interrupted"))
    with closing(attempt("reopen", lambda: open_database(path))) as database:
        record = attempt("find", lambda: find_run(database, "last"))
        writer = attempt("resume", lambda: open_writer(database, record))
        assert writer.done == {0}
        attempt("commit", commit(half))
        attempt("finish", lambda: writer.finish(bare_summary(ROWS)))
        attempt("verify", database.verify)
        attempt("status", lambda: status(path))
        record = attempt("find", lambda: find_run(database, "last"))
        assert attempt("scores", lambda: read_run(database, record)).finished
        assert len(attempt("batches", lambda: list(stored_batches(database, record)))) == 2
        attempt("all tables", lambda: contents(database))
        tables = contents(database)
    tables = {name: tables[name] for name in ("samples", "answers", "batches", "scores", "run_metrics")}
    document: dict[str, Any] = json.loads(json.dumps(tables).replace(record.id, "RUN"))
    return document


def refill_cache(path: Path, attempt: Callable[[str, Callable[[], Any]], Any]) -> dict[bytes, bytes]:
    """Fill a cache, clear it, and fill it again; return its content."""
    with closing(attempt("open cache", lambda: SqliteCache(path))) as cache:
        attempt("put", lambda: cache.put_many(VALUES))
        attempt("clear", cache.clear)
        attempt("put", lambda: cache.put_many(VALUES))
        attempt("stats", cache.stats)
        return dict(attempt("get", lambda: cache.get_many(list(VALUES))))


def main(folder: Path) -> None:
    """Print as JSON the failed attempts by step, the error messages, and whether the content is complete."""
    limit_memory()
    expected = interrupted_run(folder / "expected.db", run_directly)
    run, cache = Attempts(folder / "runs.db"), Attempts(folder / "cache.db")
    same = interrupted_run(run.path, run) == expected
    same &= refill_cache(cache.path, cache) == VALUES
    messages = sorted(run.messages | cache.messages)
    json.dump({"same": same, "refused": run.refused | cache.refused, "messages": messages}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
