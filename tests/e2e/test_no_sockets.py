"""No command opens a socket or writes into the home but as documented, seen by the operating system."""

import json
import sys
import time
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import httpx2
import pytest

from support.embedding_server import EmbeddingServer
from support.judge_server import JudgeServer, ServerReply
from support.target_server import TargetServer
from support.tracing import SGI, TracedCommand, prepare_trace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="strace exists for Linux alone"),
]
PATIENCE = 120.0
SERVED_SECONDS = 30.0
"""onnxruntime sends its first events after some seconds."""
CACHES = {".cache/sgi/vectors.db", ".cache/sgi/replies.db"}
QUESTION = "How tall is the tower?"
PASSAGE = "The tower is 330 m tall. It was built in 1889."
CHECK = ("check", "--q", QUESTION, "--c", PASSAGE, "--r", "It is 312 m tall.")
ROWS = [
    {"question": QUESTION, "contexts": [PASSAGE], "response": f"It is {n} m tall.", "reference": "330 m"}
    for n in range(300, 312)
]
FRAMES = """
import sgi, pandas, polars, pyarrow.parquet
rows = pyarrow.parquet.read_table("rows.parquet")
for frame in (rows.to_pandas(), polars.from_arrow(rows), rows):
    result = sgi.evaluate(frame, ["sgi"])
result.to_polars(), result.to_pandas(), result._repr_html_()
"""
RUNTIME_LATER = """
import sgi, onnxruntime, time
sgi.load_embedder().embed(["a cat"])
time.sleep(5)
"""
DEMO = "../../demo/work/sgi-demo.db"
OFFLINE: dict[str, tuple[Any, ...]] = {
    "demo": (*SGI, "demo"),
    "check": (*SGI, *CHECK),
    "run": (*SGI, "run", "rows.jsonl", "-m", "sgi,grounding,bertscore,rouge_l", "-o", "scores.parquet"),
    "parquet": (*SGI, "run", "rows.parquet", "-m", "sgi", "-o", "scores.csv"),
    "figures": (*SGI, "runs", "plot", "last", "--db", DEMO, "--kind", "distribution", "-o", "spread.pdf"),
    "doctor": (*SGI, "doctor"),
    "frames": (sys.executable, "-c", FRAMES),
    "library": (sys.executable, "-c", RUNTIME_LATER),
}


def prepared(folder: Path) -> TracedCommand:
    """A command to be traced, with rows in its working folder."""
    import pyarrow as pa
    from pyarrow import parquet

    command = prepare_trace(folder)
    text = "".join(f"{json.dumps(row)}\n" for row in ROWS)
    (command.work / "rows.jsonl").write_text(text, encoding="utf-8")
    parquet.write_table(pa.Table.from_pylist(ROWS), command.work / "rows.parquet")
    return command


def stated(files: set[str]) -> bool:
    """Whether the home has only files that the documentation names."""
    return files <= CACHES


def test_commands_open_no_socket_and_a_server_only_its_own(tmp_path, subtests):
    server = prepared(tmp_path / "serve")
    with server.running(*SGI, "serve", "--port", "0") as process:
        started = time.monotonic()
        address = process.stdout.readline().strip()
        use(address)
        for name, words in OFFLINE.items():
            with subtests.test(name):
                command = prepared(tmp_path / name)
                result = command.run(*words)
                assert result.returncode == 0, result.stderr
                assert command.inet_sockets + command.name_lookups == []
                assert stated(command.files_in_home), command.files_in_home
        time.sleep(max(0.0, started + SERVED_SECONDS - time.monotonic()))
        use(address)
    with subtests.test("serve"):
        assert len(server.inet_sockets + server.name_lookups) == 1
        assert server.addresses == {"127.0.0.1:0"}  # port 0: the system chooses
        assert stated(server.files_in_home), server.files_in_home


def use(address: str) -> None:
    """A few requests, one of which embeds."""
    row = {name: value for name, value in ROWS[0].items() if name != "reference"}
    with httpx2.Client(base_url=address, timeout=PATIENCE) as client:
        for reply in (
            client.get("/"),
            client.get("/healthz"),
            client.post("/api/v1/score", json={"rows": [row], "metrics": ["sgi"]}),
        ):
            assert reply.is_success, reply.text


def verdict(_: object) -> ServerReply:
    """What a judge says of an answer."""
    return ServerReply(json.dumps({"reasoning": "It is not 330 m.", "verdict": "WRONG"}))


def test_services_that_are_named_are_all_that_is_reached(tmp_path, subtests):
    with JudgeServer(replies=verdict) as judge, TargetServer() as target, EmbeddingServer() as embedder:
        azure = {"AZURE_OPENAI_API_KEY": "a-key", "AZURE_OPENAI_ENDPOINT": embedder.url}
        services: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
            "judge": (judge.url, ("-m", "answer_classification", "--judge", f"openai:m@{judge.url}"), {}),
            "target": (target.url, ("-m", "sgi", "--target", target.url), {}),
            "embedder": (embedder.url, ("-m", "sgi", "-e", f"openai:m@{embedder.url}/v1"), {}),
            "azure": (embedder.url, ("-m", "sgi"), azure),
        }
        for name, (url, words, environment) in services.items():
            with subtests.test(name):
                command = prepared(tmp_path / name)
                result = command.run(*SGI, "run", "rows.jsonl", *words, **environment)
                assert result.returncode == 0, result.stderr
                assert command.addresses == {url.split("/")[2]}
                assert stated(command.files_in_home), command.files_in_home
                assert ("texts are sent to azure:" in result.stderr) == (name == "azure")


def test_a_local_cluster_stays_on_the_loopback(tmp_path):
    command = prepared(tmp_path)
    # Ray's sockets have longer paths than temporary folders of tests leave room for.
    result = command.run(
        *SGI, "run", "rows.jsonl", "-m", "sgi", "--ray", "local", "-o", "scores", TMPDIR=gettempdir()
    )
    assert result.returncode == 0, result.stderr
    hosts = {address.rpartition(":")[0] for address in command.addresses}
    assert hosts <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert not [address for address in command.addresses if address.endswith(":53")]
    assert stated(command.files_in_home - {".ray/auth_token"}), command.files_in_home
