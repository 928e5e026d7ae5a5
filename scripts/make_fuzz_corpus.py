"""Write ``tests/fuzz/corpus``: one minimal input for each fixed error, by loader.

Run ``python scripts/make_fuzz_corpus.py`` after you add an input. Equal versions of pyarrow give equal
bytes. The tests read the committed files.
"""

from __future__ import annotations

import gzip
import io
import sqlite3
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyarrow import parquet

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.calibration_files import calibration_file

CORPUS = Path(__file__).parents[1] / "tests" / "fuzz" / "corpus"

DEEP = 5000
SPAN = (
    b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "' + b"1" * 32 + b'", "spanId": "' + b"1" * 16
)
TEXTS: dict[str, dict[str, bytes]] = {
    "printed_list": {
        "list-as-key": b"[{[1]: 1}]",
        "huge-escape": b"['a', '\\Uffffffff']",
        "huge-number": b"['a', 1" + b"0" * DEEP + b"]",
        "huge-hex": b"['a', 0x" + b"f" * DEEP + b"]",
        "deep": b"[" * DEEP + b"'a'",
    },
    "csv": {
        "list-as-key": b'contexts,response\n"[{[1]: 1}]",r\n',
        "huge-hex-label": b"response,label\nr,0x" + b"f" * DEEP + b"\n",
    },
    "jsonl": {
        "huge-number": b'{"response": "r", "x": 1' + b"0" * DEEP + b"}",
        "lone-surrogate": b'{"response": "\\ud800"}',
        "deep": b'{"response": "r", "x": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    },
    "json_document": {
        "huge-number": b'[{"response": "r", "x": 1' + b"0" * DEEP + b"}]",
        "deep": b"[" * DEEP,
        "cut-character": b'[{"response": "\xe2\x82',
    },
    "run_spec": {
        "huge-number": b'data = "a"\nmax_failures = 1' + b"0" * DEEP,
        "huge-hex": b'data = "a"\nmax_failures = 0x' + b"f" * DEEP,
        "deep": b'data = "a"\nmetrics = ' + b"[" * DEEP + b"]" * DEEP,
        "deep-but-read": b'data = "a"\nmetrics = ' + b"[" * 150 + b"]" * 150,
    },
    "gate_rules": {
        "huge-number": b'[[rule]]\nmetric = "sgi"\nabove = 1' + b"0" * DEEP,
        "huge-hex": b'[[rule]]\nmetric = "sgi"\nabove = 0x' + b"f" * DEEP,
        "deep": b"rule = " + b"[" * DEEP + b"]" * DEEP,
    },
    "calibration": {
        "lone-surrogate": b'{"format": 1, "metric": "\\ud800"}',
        "huge-number": b'{"format": 1' + b"0" * DEEP + b"}",
        "number-out-of-range": b'{"format": 1' + b"0" * 400 + b"}",
        "deep": b"[" * DEEP + b"]" * DEEP,
        "deep-format": b'{"format": ' + b"[" * 900 + b"]" * 900 + b"}",
    },
    "metric_name": {
        "list-as-key": b"rouge_l(beta={[1]: 1})",
        "huge-hex": b"rouge_l(beta=0x" + b"f" * DEEP + b")",
        "huge-number": b"rouge_l(beta=1" + b"0" * 400 + b")",
        "deep": b"rouge_l(beta=" + b"[" * DEEP,
    },
    "cascade": {"huge-alpha": b"alpha=1" + b"0" * DEEP, "deep": b"[" * 900 + b"]" * 900},
    "cassette": {
        "huge-number": b'{"format": "sgi judge cassette", "version": 1' + b"0" * DEEP + b"}\n",
        "deep": b"[" * DEEP + b"\n",
        "lone-surrogate": b'{"format": "sgi judge cassette", "version": 1, "fingerprint": "\\ud800"}\n',
    },
    "labels": {"huge-number": b"[1" + b"0" * 400 + b"]"},
    "import_export": {
        "huge-number": b'{"sgi_database": 1, "schema": 1' + b"0" * DEEP + b"}\n",
        "deep": b"[" * DEEP + b"\n",
    },
    "judge_reply": {"deep": b'{"a":' * DEEP, "huge-number": b'{"index": 1' + b"0" * DEEP + b"}"},
    "target_reply": {"deep": b"[" * DEEP, "huge-number": b'{"out": {"text": 1' + b"0" * DEEP + b"}}"},
    "otlp_json": {
        "time-is-a-list": SPAN + b'", "startTimeUnixNano": [1]}]}]}]}',
        "deep-value": SPAN
        + b'", "attributes": [{"key": "input.value", "value": '
        + b'{"arrayValue": {"values": [' * 200
        + b"]}}" * 200
        + b"}]}]}]}]}",
        "huge-number": SPAN + b'", "endTimeUnixNano": "1' + b"0" * DEEP + b'"}]}]}]}',
        "own-parent": SPAN + b'", "parentSpanId": "' + b"1" * 16 + b'"}]}]}]}',
    },
    "phoenix_table": {
        "huge-number": b'context.trace_id,context.span_id,attributes.metadata\n1,2,"['
        + b"9" * DEEP
        + b", 'a']\"\n"
    },
    "model_settings": {"deep": b"[" * DEEP, "huge-number": b'{"max_seq_length": 1' + b"0" * DEEP + b"}"},
}


def old_evals() -> dict[str, bytes]:
    """Return SQLite files with an invalid schema or a truncated end."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "old.sqlite")
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA page_size = 512")
        connection.execute("CREATE TABLE evals (id TEXT, qa_pair_id TEXT, bleu REAL, xxxx TEXT)")
        connection.execute("INSERT INTO evals VALUES ('e1', 'q1', 0.5, 'y')")
        connection.commit()
        connection.close()
        valid = path.read_bytes()
    return {"name-not-utf8": valid.replace(b"xxxx", b"xx\xff\x90"), "cut": valid[: len(valid) // 2]}


def parquet_files() -> dict[str, bytes]:
    """Return Parquet files with values that Python cannot represent."""
    day = pa.array([2**31 - 1], pa.int32()).cast(pa.date32())
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    keys = pa.MapArray.from_arrays([0, 2], pa.array(["k", "k"]), pa.array([1, 2]))
    zone = pa.array([1], pa.timestamp("us", "Nowhere/Else"))
    columns = {
        "nanoseconds": pa.array([1], pa.timestamp("ns")),
        "nanoseconds-of-a-day": pa.array([1], pa.time64("ns")),
        "duration-nanoseconds": pa.array([1], pa.duration("ns")),
        "date-out-of-range": day,
        "timestamp-out-of-range": pa.array([2**62], pa.timestamp("us")),
        "unknown-time-zone": zone,
        "not-utf8": bad,
        "duplicate-map-keys": keys,
    }
    contents = {}
    for name, column in columns.items():
        stream = io.BytesIO()
        table = pa.table({"response": ["r"], "x": column})
        parquet.write_table(table, stream, store_schema=True, write_statistics=False)
        contents[name] = stream.getvalue()
    return contents


def main() -> None:
    """Write the corpus."""
    files = {**TEXTS, "old_evals": old_evals(), "parquet": parquet_files()}
    valid = calibration_file().to_json()
    for name, old, new in (
        ("surrogate-in-a-text", '"run": "2026', '"run": "\\ud800'),
        ("count-out-of-range", '"rows": 240', '"rows": 1' + "0" * 30),
    ):
        files["calibration"] = {**files["calibration"], name: valid.replace(old, new).encode()}
    files["compressed"] = {"cut": gzip.compress(b'{"response": "r"}\n' * 9, mtime=0)[:-12]}
    for target, inputs in files.items():
        (CORPUS / target).mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (CORPUS / target / name).write_bytes(data)


if __name__ == "__main__":
    main()
