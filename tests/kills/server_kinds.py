"""Kinds of the campaign that kill `sgi serve` while clients use it."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import sqlite3
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from kills.trial import Kind, Trial, answers, wait_for
from sgi.store.database import open_database
from sgi.store.evaluations import read_evaluations
from sgi.store.human_labels import run_labels
from sgi.store.label_consensus import text_version
from sgi.store.run_queries import RunRecord, find_run, list_runs
from support.otlp import PROTOBUF, answered_trace, request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from subprocess import Popen

    from opentelemetry.proto.trace.v1.trace_pb2 import Span

_KEY = re.compile(r'name="form_key" value="([0-9a-f]+)"')
_CLIENTS = 4


def serve(trial: Trial, *words: str) -> tuple[Popen[bytes], str]:
    """Start a server; return its process and address."""
    process = trial.start("serve", "--port", "0", *words)
    address = process.stdout.readline().decode().strip().rstrip("/")
    assert address, process.communicate()[1].decode()
    return process, address


@contextmanager
def killed_after(trial: Trial, process: Popen[bytes], seconds: float) -> Iterator[None]:
    """Kill the process so many seconds after the block begins; the block ends when it is dead."""

    def kill() -> None:
        time.sleep(seconds)
        trial.kill(process)

    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill)
        yield
        killing.result()


class KilledLabels(Kind):
    """People label answers; a label that was answered with a redirect is there after the kill."""

    name = "labels in sgi serve"
    rows = 800

    def prepare(self, trial: Trial) -> None:
        """Store the run whose answers are labelled."""
        answers(trial.folder, self.rows)
        trial.complete("run", "-q", "rows.jsonl", "-m", "squad_em", "--name", "answers")
        self._source = trial.folder / "sgi.db"
        with closing(sqlite3.connect(self._source)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with open_database(self._source) as database:
            rows = read_evaluations(database, find_run(database, "answers").id)
            self._versions = {row.sample.id: text_version(row.sample) for row in rows}

    def attempt(self, trial: Trial) -> None:
        """Label until the server is killed, and continue at the next server."""
        shutil.copy(self._source, trial.folder)
        values = {name: trial.chance.choice(("yes", "no", "skip")) for name in self._versions}
        waiting, sent, acknowledged = [*values], set[str](), set[str]()
        for _ in range(trial.chance.randint(1, 3)):
            process, address = serve(trial)
            with (
                killed_after(trial, process, trial.chance.uniform(0.2, 4.0)),
                ThreadPoolExecutor(_CLIENTS) as pool,
            ):
                people = [
                    pool.submit(self._label, address, waiting[part::_CLIENTS], values)
                    for part in range(_CLIENTS)
                ]
            for person in people:
                done, more = person.result()
                acknowledged |= done
                sent |= done | more
            trial.check_database()
            self._check(trial, values, sent, acknowledged)
            waiting = [name for name in waiting if name not in acknowledged]
        process, address = serve(trial)
        with httpx2.Client(base_url=address, timeout=60) as client:
            lines = client.get("/runs/answers/labels.csv").text.splitlines()
        assert len(lines) - 1 >= len(acknowledged), f"{len(lines)} lines of {len(acknowledged)} labels"
        trial.notes["labels acknowledged"] += len(acknowledged)

    def _label(self, address: str, names: Sequence[str], values: dict[str, str]) -> tuple[set[str], set[str]]:
        """Label rows until the server is gone; return the acknowledged rows, and the one that is unknown."""
        done, name = set[str](), ""
        try:
            with httpx2.Client(base_url=address, timeout=60) as client:
                key = form_key(client, "/runs/answers/label")
                for name in names:
                    form = {"form_key": key, "row": name, "version": self._versions[name]}
                    answer = client.post("/runs/answers/label", data=form | {"answer": values[name]})
                    assert answer.status_code == 303, answer.text
                    done.add(name)
        except httpx2.TransportError:
            pass
        return done, {name} - {""}

    def _check(self, trial: Trial, values: dict[str, str], sent: set[str], acknowledged: set[str]) -> None:
        with open_database(trial.database) as database:
            labels = run_labels(database, find_run(database, "answers")).current
        assert acknowledged <= labels.keys() <= sent, "an acknowledged label is lost"
        expected = {"yes": True, "no": False, "skip": None}
        for name, given in labels.items():
            assert [label.value for label in given] == [expected[values[name]]], (name, given)


class KilledUpload(Kind):
    """The server is killed while it receives a file, or while it scores one."""

    rows = 1500

    def __init__(self, name: str, *, receiving: bool) -> None:
        self.name = name
        self._receiving = receiving

    def prepare(self, trial: Trial) -> None:
        """Score the file with `sgi run`."""
        self._file = answers(trial.folder, self.rows)
        trial.complete("run", "-q", "rows.jsonl", "-m", "grounding")
        self.whole = trial.result()

    def attempt(self, trial: Trial) -> None:
        """Kill the server; its successor has no trace of a part of a file, and scores the file."""
        process, address = serve(trial)
        interrupted = self._receive(trial, process, address) if self._receiving else self._score(
            trial, process, address
        )  # fmt: skip
        trial.check_database()
        _, address = serve(trial)
        with httpx2.Client(base_url=address, timeout=60) as client:
            page = client.get("/").text
        needed = {record.spec["data"].rpartition("/")[2] for record in interrupted}
        left = {path.name for path in (trial.folder / "sgi-uploads").glob("*")}
        assert left == needed, f"files of the killed server are left: {left - needed or needed - left}"
        assert not [*trial.temporary.iterdir()], [*trial.temporary.iterdir()]
        for record in interrupted:
            assert record.id in page
            assert (record.finished, record.stopped) == (False, "interrupted"), record
        self._upload(address, "grounding")
        _wait_for_run(trial, len(interrupted) + 1, finished=True)
        assert trial.result() == self.whole, "the second upload differs from `sgi run`"
        for record in interrupted:
            trial.complete("run", "-q", "--resume", record.id)
            assert trial.result(record.id) == self.whole, "the resumed upload differs from `sgi run`"
        trial.check_database()

    def _receive(self, trial: Trial, process: Popen[bytes], address: str) -> list[RunRecord]:
        """Kill the server while a file arrives in pieces, or soon afterwards."""
        with httpx2.Client(base_url=address, timeout=60) as client:
            content = client.build_request(
                "POST",
                "/upload",
                data={"form_key": form_key(client, "/upload")},
                files={"file": ("rows.jsonl", self._file.read_bytes())},
            )
            body, headers = content.read(), dict(content.headers)
        pause = 0.4 / 40
        with killed_after(trial, process, trial.chance.uniform(0.0, 0.8)):
            wire = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
            try:
                wire.putrequest("POST", "/upload", skip_host=True, skip_accept_encoding=True)
                for name, value in headers.items():
                    wire.putheader(name, value)
                wire.endheaders()
                for first in range(0, len(body), len(body) // 40):
                    wire.send(body[first : first + len(body) // 40])
                    time.sleep(pause)
                assert wire.getresponse().status == 303
            except (OSError, http.client.HTTPException):
                pass
            finally:
                wire.close()
        assert trial.runs() == 0
        return []

    def _score(self, trial: Trial, process: Popen[bytes], address: str) -> list[RunRecord]:
        """Kill the server while it scores a file, a second file waits, and a third one is a preview."""
        self._upload(address, "grounding")
        self._upload(address, "grounding")
        self._upload(address, "")
        target = trial.chance.choice((0, 1, 257, 513))
        trial.kill_when(process, lambda: trial.stored() >= target, 0.4)
        time.sleep(2.0)  # the worker notices the end of the server at its next message
        with open_database(trial.database) as database:
            records = list_runs(database)
            wait_for(lambda: all(run.stopped or run.finished for run in list_runs(database)))
            records = list_runs(database)
        assert len(records) <= 1, "the upload that waited was scored"
        return [record for record in records if not record.finished]

    def _upload(self, address: str, metrics: str) -> None:
        """Upload the file; score it, or leave it at its preview if ``metrics`` is empty."""
        with httpx2.Client(base_url=address, follow_redirects=True, timeout=60) as client:
            key = form_key(client, "/upload")
            sent = {"file": ("rows.jsonl", self._file.read_bytes())}
            preview = client.post("/upload", data={"form_key": key}, files=sent)
            assert preview.status_code == 200, preview.text
            if metrics:
                form = {"form_key": key, "metrics": metrics, "action": "score"}
                assert client.post(preview.url, data=form).status_code == 200


def form_key(client: httpx2.Client, page: str) -> str:
    """Return the key of the forms of this session."""
    return _KEY.search(client.get(page).text)[1]


def _wait_for_run(trial: Trial, number: int, *, finished: bool) -> None:
    def is_there() -> bool:
        with open_database(trial.database) as database:
            records = list_runs(database)
        return len(records) == number and records[0].finished >= finished

    wait_for(is_there)


class KilledReceiver(Kind):
    """Traces of an application arrive; each that was accepted with 200 is scored once."""

    name = "live traces"
    words = ("--otlp", "-m", "grounding", "--otlp-wait", "0.2")

    def prepare(self, trial: Trial) -> None:
        """Make the traces; each has its own score."""
        self.traces = {number: answered_trace(number, _answer(number)) for number in range(600)}
        _, address = serve(trial, *self.words)
        for number in self.traces:
            assert export_spans(address, self.traces[number]) == 200
        wait_for_traces(address)
        self.whole = trace_scores(trial)
        assert len(self.whole) == len(self.traces)

    def attempt(self, trial: Trial) -> None:
        """Send traces until the server is killed, send some again, and continue at the next server."""
        waiting, accepted, again = [*self.traces], set[int](), list[int]()
        for _ in range(trial.chance.randint(1, 3)):
            process, address = serve(trial, *self.words)
            with killed_after(trial, process, trial.chance.uniform(0.05, 2.0)):
                try:
                    for number in [*again, *waiting]:
                        assert export_spans(address, self.traces[number]) == 200
                        accepted.add(number)
                        if trial.chance.random() < 0.1:  # as if its answer were lost
                            export_spans(address, self.traces[number])
                        time.sleep(0.005)
                except (OSError, http.client.HTTPException):
                    pass
            trial.check_database()
            assert len(trace_scores(trial)) <= len(self.traces)
            again = trial.chance.sample(sorted(accepted), min(5, len(accepted)))
            waiting = [number for number in waiting if number not in accepted]
        _, address = serve(trial, *self.words)
        for number in [*again, *waiting[:20]]:
            assert export_spans(address, self.traces[number]) == 200
            accepted.add(number)
        wait_for_traces(address)
        trial.check_database()
        found = trace_scores(trial)
        trial.notes["traces accepted"] += len(accepted)
        ids = {self.traces[number][0].trace_id.hex() for number in accepted}
        assert ids <= found.keys(), f"{len(ids - found.keys())} accepted traces are lost"
        assert all(found[name] == self.whole[name] for name in ids), "a score differs"


def _answer(number: int) -> str:
    return f"Bridge {number} opened in {1932 + number % 3}."


def export_spans(address: str, spans: Sequence[Span]) -> int:
    """Send spans, and return the status of the answer."""
    body = request(spans).SerializeToString()
    call = urllib.request.Request(f"{address}/v1/traces", data=body, headers=PROTOBUF)
    with urllib.request.urlopen(call, timeout=60) as answer:
        return int(answer.status)


def wait_for_traces(address: str) -> None:
    """Wait until every accepted trace is scored."""

    def is_empty() -> bool:
        with urllib.request.urlopen(f"{address}/api/v1/otlp", timeout=60) as answer:
            counts = json.load(answer)["counts"]
        assert not counts["failed"], counts
        return counts["waiting"] == 0

    wait_for(is_empty)


def trace_scores(trial: Trial) -> dict[str, tuple[str, float | None]]:
    """Return status and value by id of the trace; an id that is stored twice is an error."""
    found: dict[str, tuple[str, float | None]] = {}
    with open_database(trial.database) as database:
        for record in list_runs(database, search="traces-"):
            for row in read_evaluations(database, record.id):
                assert row.sample.id not in found, f"the trace {row.sample.id} is stored twice"
                (score,) = row.scores.values()
                found[row.sample.id] = score.status, score.value
    return found


def kinds() -> list[Kind]:
    """Return the kinds of this file."""
    return [
        KilledLabels(),
        KilledUpload("upload that arrives", receiving=True),
        KilledUpload("upload that is scored", receiving=False),
        KilledReceiver(),
    ]
