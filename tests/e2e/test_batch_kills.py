"""Runs with batches that are killed with SIGKILL: no request is paid for twice, and no reply is lost."""

from __future__ import annotations

import json
import random
import time

import pytest

from sgi.store.database import open_database
from sgi.store.run_queries import find_run, list_runs, run_usage
from support.batch_server import BatchServer
from support.judge_server import Request, ServerReply
from support.judged_runs import CLAIMS, DATABASE, PATIENCE, VERDICTS, kill, rows_file, start

KILLS = 5
ROWS = 200

pytestmark = pytest.mark.slow


def faithful(request: Request) -> ServerReply:
    return ServerReply(VERDICTS if "verdicts" in json.dumps(request.body) else CLAIMS)


def test_a_run_that_is_killed_five_times_pays_each_request_once(tmp_path):
    rows_file(tmp_path, ROWS)
    chance = random.Random(3)  # noqa: S311 - moments, not secrets
    kills = 0
    with BatchServer(faithful, takes=1.5) as server:
        words = ("rows.jsonl", "-m", "faithfulness", "--judge", f"openai:m@{server.url}", "--batch")
        while kills < KILLS:
            process = start(tmp_path, *words)
            # From before the first upload to the scores of the last rows.
            time.sleep(chance.uniform(1.5, 7.0))
            if process.poll() is not None:
                break
            kill(process)
            kills += 1
            with open_database(tmp_path / DATABASE) as database:
                words = ("--resume", "last", "--trust-target") if list_runs(database) else words
        last = start(tmp_path, *words, "--json")
        out, err = last.communicate(timeout=PATIENCE)
        assert last.returncode == 0, err.decode()
    assert kills == KILLS
    assert json.loads(out)["metrics"][0]["ok"] == ROWS
    assert (len(server.billed), set(server.billed.values()), server.direct) == (2 * ROWS, {1}, 0)
    with open_database(tmp_path / DATABASE, create=False) as database:
        (usage,) = run_usage(database, find_run(database, "last").id).values()
    assert (usage.calls + usage.cached, usage.unanswered) == (2 * ROWS, 0)
