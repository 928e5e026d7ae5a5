"""No command opens a socket or writes into the home but as documented, seen by the operating system."""

from __future__ import annotations

import json
import re
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

from support.embedding_server import EmbeddingServer
from support.judge_server import JudgeServer, Says
from support.target_server import TargetServer
from support.tracing import SGI, Traced, traced

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="strace exists for Linux alone"),
]
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
OFFLINE: dict[str, tuple[Any, ...]] = {
    "demo": (*SGI, "demo"),
    "check": (*SGI, *CHECK),
    "run": (*SGI, "run", "rows.jsonl", "-m", "sgi,grounding,bertscore,rouge_l", "-o", "scores.parquet"),
    "parquet": (*SGI, "run", "rows.parquet", "-m", "sgi", "-o", "scores.csv"),
    "openvino": (*SGI, *CHECK, "--backend", "openvino"),
    "figures": (*SGI, "plot", "last", "--db", "../../demo/work/sgi-demo.db", "--kind", "plane", "-o", "plane.pdf"),
    "doctor": (*SGI, "doctor"),
    "frames": (sys.executable, "-c", FRAMES),
    "library": (sys.executable, "-c", RUNTIME_LATER),
}


def prepared(folder: Path) -> Traced:
    """A command to be traced, with rows in its working folder."""
    import pyarrow as pa
    from pyarrow import parquet

    command = traced(folder)
    text = "".join(f"{json.dumps(row)}\n" for row in ROWS)
    (command.work / "rows.jsonl").write_text(text, encoding="utf-8")
    parquet.write_table(pa.Table.from_pylist(ROWS), command.work / "rows.parquet")
    return command


def stated(files: set[str]) -> bool:
    """Whether the home has only files that the documentation names."""
    return all(name in CACHES or re.fullmatch(r"\.cache/sgi/vega-[\w.]+\.js", name) for name in files)


def test_commands_open_no_socket_and_a_server_only_its_own(tmp_path, subtests):
    server = prepared(tmp_path / "serve")
    with server.running(*SGI, "serve", "--port", "0") as process:
        started = time.monotonic()
        address = process.stdout.readline().strip()
        use(address)
        for name, words in OFFLINE.items():
            with subtests.test(name):
                command = prepared(tmp_path / name)
                done = command.run(*words)
                assert done.returncode == 0, done.stderr
                assert command.inet_sockets == []
                assert stated(command.left_in_home), command.left_in_home
        time.sleep(max(0.0, started + SERVED_SECONDS - time.monotonic()))
        use(address)
    with subtests.test("serve"):
        assert len(server.inet_sockets) == 1
        assert server.addresses == {address.removeprefix("http://").strip("/")}
        assert stated(server.left_in_home), server.left_in_home


def use(address: str) -> None:
    """A few requests, one of which embeds."""
    rows = {"rows": [ROWS[0]], "metrics": ["sgi"]}
    score = Request(
        f"{address}api/v1/score",
        json.dumps(rows).encode(),
        {"content-type": "application/json"},
    )
    for request in (address, f"{address}healthz", score):
        with urlopen(request, timeout=60) as reply:
            assert reply.status == 200
