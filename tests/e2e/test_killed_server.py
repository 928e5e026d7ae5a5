"""A server that is killed leaves no process behind, and an upload that can be resumed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from http.cookiejar import CookieJar

import pytest

from sgi.store.database import open_database
from sgi.store.run_queries import find_run, list_runs
from support.kept_runs import rows, write_rows

_KEY = re.compile(r'name="form_key" value="([0-9a-f]+)"')


@contextmanager
def served(folder):
    command = [sys.executable, "-m", "sgi", "serve", "--port", "0", "--db", "sgi.db"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ}
    ) as process:
        try:
            yield process, process.stdout.readline().strip().rstrip("/")
        finally:
            process.kill()


def browser():
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))


def page(opener, address):
    with opener.open(address, timeout=60) as answer:
        return answer.geturl(), answer.read().decode()


def upload(opener, address, path, metric):
    """The address of the page of the job."""
    key = _KEY.search(page(opener, f"{address}/upload")[1])[1]
    preview = _send(opener, f"{address}/upload", path, [("form_key", key)])
    fields = [("form_key", key), ("metrics", metric), ("action", "score")]
    return _send(opener, preview, None, fields).removeprefix(address)


def _send(opener, address, path, fields):
    parts = [(name, None, value) for name, value in fields]
    if path is not None:
        parts.append(("file", path.name, path.read_text()))
    body = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{name}"'
        + (f'; filename="{file}"' if file else "")
        + f"\r\n\r\n{text}\r\n"
        for name, file, text in parts
    )
    asked = urllib.request.Request(  # noqa: S310 - our own server
        address,
        data=f"{body}--b--\r\n".encode(),
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )
    with opener.open(asked, timeout=60) as answer:
        return answer.geturl()


def wait_for(condition, seconds=600.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


@pytest.mark.slow
def test_a_killed_server_ends_the_process_of_an_upload_and_its_run_can_be_resumed(tmp_path):
    long = write_rows(tmp_path / "long.jsonl", rows(4_000))
    with served(tmp_path) as (process, address):
        opener = browser()
        upload(opener, address, long, "sgi")
        wait_for(lambda: scored(tmp_path) > 0)
        process.kill()
        process.wait()
    with open_database(tmp_path / "sgi.db") as database:
        (interrupted,) = list_runs(database)
        wait_for(lambda: find_run(database, interrupted.id).stopped == "interrupted")
        assert not find_run(database, interrupted.id).finished
    command = [sys.executable, "-m", "sgi", "run", "--resume", interrupted.id, "--db", "sgi.db", "-q"]
    subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
    with open_database(tmp_path / "sgi.db") as database:
        assert find_run(database, interrupted.id).finished


def scored(folder):
    with open_database(folder / "sgi.db") as database:
        return sum(run.scored for run in list_runs(database))
