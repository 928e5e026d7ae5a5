"""`sgi serve --otlp` in a process of its own, with the real exporter of OpenTelemetry."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from sgi.store.database import open_database
from sgi.store.evaluations import read_evaluations
from sgi.store.run_queries import list_runs
from support.otlp import PROTOBUF, answered_trace, request
from support.web_server import wait_until

STATES = ("invalid", "refused", "sampled_out", "late", "waiting", "assembled")


@contextmanager
def served(folder, *words):
    """Run a server; yields the process and its address, and stops the process with SIGTERM."""
    command = [sys.executable, "-m", "sgi", "serve", "--otlp", "--port", "0", "--db", "sgi.db", *words]
    with (
        (folder / "serve.log").open("a") as log,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            yield process, process.stdout.readline().strip().rstrip("/")
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        finally:
            process.kill()


def status(address):
    with urllib.request.urlopen(f"{address}/api/v1/otlp", timeout=60) as answer:
        return json.load(answer)["counts"]


def post(address, spans):
    """Send spans; return the status."""
    body = request(spans).SerializeToString()
    call = urllib.request.Request(f"{address}/v1/traces", data=body, headers=PROTOBUF)
    try:
        with urllib.request.urlopen(call, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def stored_ids(folder):
    with open_database(folder / "sgi.db") as database:
        runs = list_runs(database)
        return [row.sample.id for run in runs for row in read_evaluations(database, run.id)]


def answer_questions(address, count, compression):
    """An application with an instrumented RAG system; return the ids of its traces."""
    exporter = OTLPSpanExporter(f"{address}/v1/traces", compression=compression)
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("rag")
    ids = []
    for number in range(count):
        asked = {"openinference.span.kind": "CHAIN", "input.value": f"When did bridge {number} open?"}
        with tracer.start_as_current_span("chain", attributes=asked) as root:
            documents = {"retrieval.documents.0.document.content": f"Bridge {number} opened in 1932."}
            with tracer.start_as_current_span(
                "search", attributes={"openinference.span.kind": "RETRIEVER", **documents}
            ):
                pass
            root.set_attribute("output.value", "It opened in 1932.")
            ids.append(format(root.get_span_context().trace_id, "032x"))
    assert provider.force_flush()
    provider.shutdown()
    return ids


@pytest.mark.slow
def test_an_application_with_the_real_exporter(tmp_path):
    with served(tmp_path, "-m", "grounding", "--otlp-wait", "0.3") as (_, address):
        ids = answer_questions(address, 5, Compression.Gzip)
        wait_until(lambda: status(address)["scored"] == 5)
        ids += answer_questions(address, 4, Compression.NoCompression)
        wait_until(lambda: status(address)["scored"] == 9)
    assert sorted(stored_ids(tmp_path)) == sorted(ids)
    log = (tmp_path / "serve.log").read_text()
    assert f"Receiving traces at {address}/v1/traces." in log
    assert "Traces: 18 spans received, 9 traces, 9 rows scored." in log


@pytest.mark.slow
def test_metrics_of_a_file_of_definitions_are_scored(tmp_path):
    definitions = tmp_path / "metrics.toml"
    definitions.write_text('[right_year]\nmetric = "contains"\ntext = "1932"\n')
    with served(tmp_path, "--define", str(definitions), "--otlp-wait", "0.3") as (_, address):
        answer_questions(address, 2, Compression.NoCompression)
        wait_until(lambda: status(address)["scored"] == 2)
    with open_database(tmp_path / "sgi.db") as database:
        (record,) = list_runs(database)
        (name,) = record.metrics
        assert name.startswith('right_year(definition="')
        rows = list(read_evaluations(database, record.id))
        assert [row.scores[name].value for row in rows] == [1.0, 1.0]


@pytest.mark.slow
def test_the_real_exporter_repeats_what_a_full_buffer_refuses(tmp_path):
    with served(tmp_path, "-m", "grounding", "--otlp-wait", "1", "--otlp-buffer", "5KB") as (_, address):
        ids = [answer_questions(address, 2, Compression.Gzip) for _ in range(4)]
        wait_until(lambda: status(address)["scored"] == 8)
        counts = status(address)
    assert counts["refused"] > 0
    assert sorted(stored_ids(tmp_path)) == sorted(name for part in ids for name in part)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.slow
def test_accepted_spans_survive_the_end_of_the_server(tmp_path, number):
    with served(tmp_path, "-m", "grounding", "--otlp-wait", "600") as (process, address):
        for trace in range(4):
            assert post(address, answered_trace(trace)) == 200
        process.send_signal(number)
        process.wait(60)
    assert stored_ids(tmp_path) == []
    with served(tmp_path, "-m", "grounding", "--otlp-wait", "0.2") as (_, address):
        wait_until(lambda: status(address)["scored"] == 4)
        counts = status(address)
    assert (counts["restored"], counts["assembled"], counts["received"]) == (8, 8, 0)
    assert len(set(stored_ids(tmp_path))) == 4


@pytest.mark.slow
def test_under_load_every_span_is_counted_once(tmp_path):
    words = ("-m", "grounding", "--otlp-wait", "0.5", "--otlp-buffer", "30KB", "--otlp-share", "0.5")
    with served(tmp_path, *words) as (_, address):
        with ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(lambda number: post(address, answered_trace(number)), range(200)))
        assert set(codes) == {200, 503}
        wait_until(lambda: status(address)["waiting"] == 0)
        counts = status(address)
        again = [post(address, answered_trace(number)) for number, code in enumerate(codes) if code == 503][
            :10
        ]
        assert 200 in again
    assert counts["received"] == 400
    assert counts["refused"] == 2 * codes.count(503)
    assert counts["received"] == sum(counts[state] for state in STATES)
    assert counts["scored"] == counts["traces"] == counts["assembled"] / 2
    ids = stored_ids(tmp_path)
    assert len(ids) == len(set(ids)) >= counts["scored"]


@pytest.mark.slow
def test_two_servers_cannot_share_a_database(tmp_path):
    with served(tmp_path, "-m", "grounding") as (_, address):
        assert status(address)["received"] == 0
        command = [sys.executable, "-m", "sgi", "serve", "--otlp", "--port", "0", "--db", "sgi.db"]
        second = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
    assert second.returncode != 0
    assert "Another server receives traces for this database" in second.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--otlp-share", "0.5"], "--otlp-share needs --otlp"),
        (["-m", "grounding"], "--metric needs --otlp"),
        (["--otlp", "-m", "faithfulness"], "A judge is needed"),
        (["--otlp", "-m", "no_such_metric"], "no_such_metric"),
        (["--otlp", "--otlp-share", "2"], "--otlp-share"),
    ],
)
@pytest.mark.slow
def test_wrong_options_are_refused(tmp_path, words, reason):
    command = [sys.executable, "-m", "sgi", "serve", "--port", "0", "--db", "sgi.db", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2, done.stderr
    assert reason in re.sub(r"\x1b\[[0-9;]*m", "", done.stderr)
