"""Runs with a judge that are killed with SIGKILL: the usage in the database covers what was sent."""

import json
import random
import time

import pytest

from sgi.kernel.protocols import Usage
from sgi.store.database import open_database
from sgi.store.run_queries import find_run, run_usage
from support.judged_runs import DATABASE, PATIENCE, CountingServer, kill, rows_file, start, wait_until

KILLS = 10
ROWS = 120
AT_ONCE = 8

pytestmark = pytest.mark.slow


def recorded(folder) -> Usage:
    with open_database(folder / DATABASE, create=False) as database:
        return sum(run_usage(database, find_run(database, "last").id).values(), Usage())


def test_of_three_resumes_at_once_one_does_the_run_and_all_cost_is_counted(tmp_path):
    rows_file(tmp_path, ROWS)
    with CountingServer(0.4) as server:
        judge = ("--judge", f"openai:m@{server.url}", "--judge-concurrency", str(AT_ONCE))
        first = start(tmp_path, "rows.jsonl", "-m", "faithfulness", *judge)
        wait_until(lambda: server.received >= AT_ONCE, first)
        kill(first)
        resumes = [start(tmp_path, "--resume", "last", "--trust-target") for _ in range(3)]
        ends = [
            (process.communicate(timeout=PATIENCE)[1].decode(), process.returncode) for process in resumes
        ]
        assert sorted(code for _, code in ends) == [0, 2, 2], ends
        assert all("is being written by process" in err for err, code in ends if code)
        used = recorded(tmp_path)
        assert 0 <= used.calls + used.unanswered - server.received <= AT_ONCE


def test_a_run_that_is_taken_over_counts_the_requests_of_both_processes(tmp_path):
    rows_file(tmp_path, ROWS)
    with CountingServer(0.4) as server:
        judge = ("--judge", f"openai:m@{server.url}", "--judge-concurrency", str(AT_ONCE))
        first = start(tmp_path, "rows.jsonl", "-m", "faithfulness", *judge)
        wait_until(lambda: server.received >= AT_ONCE, first)
        second = start(tmp_path, "--resume", "last", "--trust-target", "--take-over")
        err = first.communicate(timeout=PATIENCE)[1].decode()
        assert (first.returncode, f"was taken over by process {second.pid}" in err) == (2, True), err
        err = second.communicate(timeout=PATIENCE)[1].decode()
        assert second.returncode == 0, err
        used = recorded(tmp_path)
        assert 0 <= used.calls + used.unanswered - server.received <= AT_ONCE


@pytest.mark.parametrize(
    ("cache", "times"),
    [
        pytest.param((), 1, id="once"),
        pytest.param((), KILLS, id="ten times"),
        pytest.param(("--no-cache",), KILLS, id="ten times, no cache"),
    ],
)
def test_usage_covers_what_was_sent_after_kills(tmp_path, cache, times):
    count = ROWS if times == KILLS else ROWS // 3
    rows_file(tmp_path, count)
    chance = random.Random(11)
    with CountingServer(0.05) as server:
        judge = ("--judge", f"openai:m@{server.url}", "--judge-concurrency", str(AT_ONCE))
        words = ("rows.jsonl", "-m", "faithfulness", *judge, *cache)
        for kills in range(1, times + 1):
            before, few = server.received, chance.randint(1, 18)
            process = start(tmp_path, *words)
            wait_until(lambda before=before, few=few: server.received >= before + few, process)
            time.sleep(chance.uniform(0, 0.02))
            kill(process)
            words = ("--resume", "last", "--trust-target", *cache)
            used = recorded(tmp_path)
            # More only by what was counted, and killed before it was sent.
            assert 0 <= used.calls + used.unanswered - server.received <= AT_ONCE * kills
        last = start(tmp_path, *words, "--json")
        out, err = last.communicate(timeout=PATIENCE)
        assert last.returncode == 0, err.decode()
        assert json.loads(out)["metrics"][0]["ok"] == count
        used = recorded(tmp_path)
        print(f"received {server.received}, recorded {used}")  # noqa: T201 - a figure for those who look
        assert 0 <= used.calls + used.unanswered - server.received <= AT_ONCE * times
        assert used.unanswered <= AT_ONCE * times
        assert (used.input_tokens, used.output_tokens) == (100 * used.calls, 10 * used.calls)
