"""A server that is killed leaves no process behind, and an upload that can be resumed."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import contextmanager

import httpx2
import pytest

from sgi.store.database import open_database
from sgi.store.run_queries import find_run, list_runs
from support.kept_runs import rows, write_rows
from support.web_server import wait_until


@contextmanager
def served(folder):
    command = [sys.executable, "-m", "sgi", "serve", "--port", "0", "--db", "sgi.db"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def upload(address, path, metric):
    with httpx2.Client(base_url=address, follow_redirects=True, timeout=60) as browser:
        key = re.search(r'name="form_key" value="([0-9a-f]+)"', browser.get("/upload").text)[1]
        preview = browser.post(
            "/upload", data={"form_key": key}, files={"file": (path.name, path.read_bytes())}
        )
        browser.post(preview.url, data={"form_key": key, "metrics": metric, "action": "score"})


@pytest.mark.slow
def test_a_killed_server_ends_the_process_of_an_upload_and_its_run_can_be_resumed(tmp_path):
    long = write_rows(tmp_path / "long.jsonl", rows(4_000))
    with served(tmp_path) as (process, address):
        upload(address, long, "sgi")
        wait_until(lambda: scored(tmp_path) > 0, 600.0)
        process.kill()
        process.wait()
    with open_database(tmp_path / "sgi.db") as database:
        (interrupted,) = list_runs(database)
        wait_until(lambda: find_run(database, interrupted.id).stopped == "interrupted", 60.0)
        assert not find_run(database, interrupted.id).finished
    command = [sys.executable, "-m", "sgi", "run", "--resume", interrupted.id, "--db", "sgi.db", "-q"]
    subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
    with open_database(tmp_path / "sgi.db") as database:
        assert find_run(database, interrupted.id).finished


def scored(folder):
    with open_database(folder / "sgi.db") as database:
        return sum(run.scored for run in list_runs(database))
