"""Every loader as a function of bytes: it returns, or raises an error of the project's own kind.

An expected error is an `SgiError`, or the one exception that the tested function documents. Anything else
is a bug.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import orjson

from fuzz.import_targets import SEEDS as IMPORT_SEEDS
from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sgi.io.rows import RawRow

ROWS = (
    b'{"id": "a", "question": "Who?", "contexts": ["One.", {"text": "Two."}], "response": "She.", "label": true}',
    b'{"id": 7, "query": "How many?", "answer": "3", "ground_truth": ["3", "three"], "metadata": {"k": [1.5, null]}}',
)
TABLE = b"".join(
    (
        b"id,question,contexts,response,reference,label,metadata,source\r\n",
        b"""a,Who?,"['One.' 'Two.']",She.,She.,1,"{""k"": 1}",x\r\n""",
        b"""b,"How\nmany?","[""One."", ""Two.""]",3,,no,,y\r\n""",
    )
)


@dataclass(frozen=True)
class Target:
    """A loader that is fuzzed.

    Attributes:
        run: gives it bytes.
        seeds: valid inputs, made once.
        weight: how many inputs it gets for each thousand of the test; cheap loaders get more.
        expected: what it documents beside `SgiError`.
    """

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    weight: int = 10
    expected: tuple[type[Exception], ...] = field(default=())

    def __call__(self, data: bytes) -> None:
        """Load the bytes; an expected error is none."""
        with suppress(SgiError, *self.expected):
            self.run(data)


TARGETS: dict[str, Target] = {}


def target(
    *seeds: bytes, weight: int = 10, expected: tuple[type[Exception], ...] = (), name: str = ""
) -> Callable[[Callable[[bytes], None]], Callable[[bytes], None]]:
    """Register a function under its name."""

    def add(run: Callable[[bytes], None]) -> Callable[[bytes], None]:
        made = name or run.__name__
        TARGETS[made] = Target(run, lambda: list(seeds) or SEEDS[made](), weight, expected)
        return run

    return add


SEEDS: dict[str, Callable[[], list[bytes]]] = {}
"""Seeds that take time to make, by target."""


def seeds_of(name: str) -> Callable[[Callable[[], list[bytes]]], Callable[[], list[bytes]]]:
    """Register the maker of a target's seeds."""

    def add(make: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
        SEEDS[name] = cache(make)
        return make

    return add


@cache
def folder() -> Path:
    """A folder for files, in memory where there is one."""
    place = Path("/dev/shm")  # noqa: S108 - a file system in memory
    return Path(mkdtemp(prefix="sgi-fuzz-", dir=place if place.is_dir() else None))


def saved(name: str, data: bytes) -> Path:
    """The bytes as a file."""
    path = folder() / name
    path.write_bytes(data)
    return path


def remove_files() -> None:
    """Remove what the targets wrote."""
    shutil.rmtree(folder(), ignore_errors=True)


def consume(rows: Iterable[RawRow]) -> None:
    """Read rows to their end, and write samples and refused rows as a run would."""
    from sgi.io.rows import read_rows
    from sgi.io.write import json_line

    refused: list[Any] = []
    for sample in read_rows(rows, file="a.file", on_reject=refused.append):
        json_line(sample.model_dump(mode="json"))
    for row in refused:
        json_line({"error": str(row.error), "row": row.row})


def rows_of(path: Path) -> None:
    """Read a file as a dataset."""
    from sgi.io.files import file_rows

    consume(file_rows(path))


@target(TABLE, TABLE.decode().encode("utf-16"), weight=60)
def csv(data: bytes) -> None:
    from sgi.io.csv import csv_rows

    consume(csv_rows(io.BytesIO(data), "a.csv", mapping=(), delimiter=None))


@target(TABLE.replace(b",", b"\t"), weight=30)
def tsv(data: bytes) -> None:
    from sgi.io.csv import csv_rows

    consume(csv_rows(io.BytesIO(data), "a.tsv", mapping=(), delimiter="\t"))


@target(b"\n".join(ROWS), b"\n".join(ROWS).decode().encode("utf-16"), weight=80)
def jsonl(data: bytes) -> None:
    from sgi.io.jsonl import json_lines
    from sgi.io.text_file import numbered_lines

    consume(json_lines(numbered_lines(io.BytesIO(data), "a.jsonl")))


@target(b"[" + b",\n".join(ROWS) + b"]", b'{"version": 1, "data": [' + ROWS[0] + b"]}", ROWS[1], weight=60)
def json_document(data: bytes) -> None:
    from sgi.io.jsonl import json_file

    consume(json_file(io.BytesIO(data), "a.json"))


@seeds_of("compressed")
def _compressed() -> list[bytes]:
    packed = [gzip.compress(data, mtime=0) for data in (TABLE, b"\n".join(ROWS))]
    return [*packed, packed[1] + packed[1]]


@target(weight=20)
def compressed(data: bytes) -> None:
    for name in ("a.jsonl.gz", "a.csv.gz", "a.json.gz"):
        with suppress(SgiError):
            rows_of(saved(name, data))


@target(b"[{'text': 'a'}, array(['b', nan], dtype=object)]", b"['a' 'b']", b"[[1, 'x']]", weight=60)
def printed_list(data: bytes) -> None:
    from sgi.io.rows import RawRow

    text = data.decode("utf-8", "surrogateescape")
    consume([RawRow(1, {"contexts": text, "response": "r", "metadata": text, "label": text}, kind="csv")])


@target(b"question=a.b.0.*\ncontexts=x,y\nresponse=", b"label=deep.label", weight=30)
def mapping(data: bytes) -> None:
    from sgi.cli.options import column_map
    from sgi.io.rows import RawRow, read_rows

    lines = data.decode("utf-8", "replace").split("\n")
    values = {"a": {"b": [{"c": 1}, None]}, "x": "1", "y": ["2"], "deep": '{"label": true}', lines[0]: "z"}
    list(read_rows([RawRow(1, values)], file="a", columns=column_map(lines)))


@seeds_of("parquet")
def _parquet() -> list[bytes]:
    from datetime import UTC, date, datetime

    import pyarrow as pa
    from pyarrow import parquet as pq

    table = pa.table(
        {
            "question": ["Who?", "Why?"],
            "contexts": [["a", "b"], None],
            "response": pa.array(["x", "x"]).dictionary_encode(),
            "when": pa.array([1, 2], pa.timestamp("ns", "Europe/Berlin")),
            "day": [date(2024, 1, 1), None],
            "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None]),
            "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "price": pa.array([1, None], pa.decimal128(10, 2)),
            "deep": [{"a": [{"b": 1.5}]}, None],
        }
    )
    made = []
    for options in ({}, {"compression": "zstd", "data_page_version": "2.0"}, {"use_dictionary": False}):
        stream = io.BytesIO()
        pq.write_table(table, stream, **options)
        made.append(stream.getvalue())
    return made


@target(weight=10)
def parquet(data: bytes) -> None:
    """What the worker process would do, without the process: its own boundary catches all that Arrow raises."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    from sgi.io import parquet_worker
    from sgi.io.parquet import arrow_rows

    stream = io.BytesIO()
    asked = {"groups": None, "cell": 4_000_000, "row": 8_000_000, "columns": 10_000}
    with suppress(Exception, SystemExit):
        parquet_worker.write_rows(pq.ParquetFile(io.BytesIO(data)), asked, stream)
    stream.seek(0)
    with suppress(pa.ArrowException, OSError), pa.ipc.open_stream(stream) as batches:
        consume(arrow_rows(batches, batches.schema.names, mapping=(), file="a.parquet"))


@target(
    b'data = "a.csv"\nmetrics = ["sgi", "rouge_l(beta=1.2)"]\nmax_failures = "5%"\n[columns]\nquestion = "ask"\n'
    b'[judge]\nmodel = "openai:m@http://127.0.0.1:1/v1"\nmax_cost = 1.5\n',
    b'data = "a.jsonl"\nembedders = "minilm"\ncascade = "alpha=0.1,labelled=b.jsonl"\n[target]\n'
    b'where = "http://127.0.0.1:1/ask"\nrate = 60\nbody = {a = [1, {b = 2}]}\nheaders = {X-Key = "${K}"}\n',
    weight=40,
)
def run_spec(data: bytes) -> None:
    from sgi.engine.spec import RunSpec, read_spec

    path = saved("run.toml", data)
    RunSpec.of(read_spec(path), source=str(path)).stored()


@target(b'coverage = 0.9\n[[rule]]\nmetric = "sgi"\nat_least = 0.8\nmax_drop = 0.02\n', weight=40)
def gate_rules(data: bytes) -> None:
    from sgi.engine.gating.rules import read_rules

    read_rules(saved("rules.toml", data))


@target(b"rouge_l(beta=1.2)", b'lexical_aggregate(weights=(1, 2), x="y")', weight=30)
def metric_name(data: bytes) -> None:
    from sgi.kernel.registry import metric

    _ = metric(data.decode("utf-8", "replace")).canonical


@target(b"faithfulness >= 0.8", b"rouge_l(beta=1.2)<.3", weight=30)
def gate_expression(data: bytes) -> None:
    from sgi.engine.gating.rules import parse_rule

    parse_rule(data.decode("utf-8", "replace"))


@seeds_of("calibration")
def _calibration() -> list[bytes]:
    from support.calibration_files import fitted

    return [fitted().to_json().encode()]


@target(weight=40)
def calibration(data: bytes) -> None:
    from sgi.engine.calibration.file import read_calibration

    read_calibration(saved("c.json", data))


@target(b"alpha=0.05,labelled=a,b.jsonl", b'{"alpha": 0.1, "learnt": {"threshold": 0.5}}', weight=30)
def cascade(data: bytes) -> None:
    from sgi.engine.cascade.rule import read_cascade

    read_cascade(data.decode("utf-8", "replace"))
    with suppress(ValueError, RecursionError):
        value = json.loads(data)
        read_cascade(value)


@target(
    b'{"format": "sgi judge cassette", "version": 1, "fingerprint": "m", "judge": {"model": "openai:m"}}\n'
    b'{"call": "00ff", "schema": "V", "reply": {"text": "{}", "finish": "stop", "refusal": "", "input_tokens": 1,'
    b' "output_tokens": 2}}\n{"call": "01", "schema": "V", "error": {"kind": "JudgeRefused", "message": "no",'
    b' "hint": ""}}\n',
    weight=40,
)
def cassette(data: bytes) -> None:
    from sgi.judge.cassette import Replayed, recorded_judge
    from sgi.judge.tally import Tally

    path = saved("c.jsonl", data)
    with suppress(SgiError):
        recorded_judge(path)
    Replayed(path, Tally())


@target(b'{"verdicts": [{"index": 1}]}', b'Here: ```json\n{"index": 2}\n```', b"I'm sorry, no.", weight=60)
def judge_reply(data: bytes) -> None:
    from sgi.judge.calls import Completion
    from sgi.judge.reading import Unfit, read
    from sgi.kernel.judging import Verdict

    for text in (data.decode("utf-8", "replace"), data.decode("utf-8", "surrogateescape")):
        with suppress(Unfit):
            read(Completion(text), Verdict)


@target(
    b'{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,'
    b' "finish_reason": "stop", "message": {"role": "assistant", "content": "{}"}}], "usage": {"total_tokens": 3}}',
    weight=20,
    expected=(ValueError,),  # the chat makes it a JudgeMalformed
)
def chat_completion(data: bytes) -> None:
    from sgi.judge.client import _completion

    _completion(orjson.loads(data))


@target(
    b'{"data": [{"index": 1, "embedding": [0.5, 1]}, {"index": 0, "embedding": "AACAPwAAgD8="}]}',
    weight=30,
    expected=(ValueError,),  # the embedder makes it an EmbedderError
)
def embeddings(data: bytes) -> None:
    from sgi.embed.remote import _rows

    _rows(data, 2)


@cache
def _http_target() -> Any:
    from sgi.target.http import HttpTarget
    from sgi.target.spec import TargetSpec

    spec = TargetSpec(where="http://127.0.0.1:1/a", answer_field="out.text", contexts_field="sources.*.text?")
    return HttpTarget(spec, None, url=spec.where, body={}, secrets=["a-secret"])


@target(b'{"out": {"text": "Mars"}, "sources": [{"text": "Mars is red."}]}', weight=60)
def target_reply(data: bytes) -> None:
    _http_target()._reply(data)


@target(b'[{"a": [{"b": 1}]}, "a.*.b"]', b'[[1, 2], "0"]', weight=40, expected=(LookupError, ValueError))
def json_path(data: bytes) -> None:
    from sgi.kernel.json_path import check_path, get_path, set_path

    match json.loads(data):
        case [document, str(path)]:
            pass
        case _:
            return
    check_path(path, every=True)
    if isinstance(document, dict):
        with suppress(ValueError):
            set_path(document, path, "x")
    get_path(document, path)


@target(b'{"rows": [{"id": "a", "question": "Who?", "contexts": ["One."], "response": "She."}]}',
        b'{"rows": [{"response": "a", "reference": "b"}], "metrics": ["rouge_l(beta=1.2)"], "details": true}',
        weight=30)  # fmt: skip
def api_score(data: bytes) -> None:
    from sgi.web.api.bodies import read_score_request

    read_score_request(data)


@target(b"q=Paris&metric=sgi&low=0.5&high=1e3&label=1&sort=lowest&page=2&rc_low=0&by=k&is=v", weight=40)
def url_filters(data: bytes) -> None:
    from urllib.parse import parse_qsl

    from sgi.web.filters import page_number, parameters, row_query

    values = dict(parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True))
    page_number(values)
    parameters(row_query(values))


@target(b'["yes", "No", null, 1, 0.5]', b"[0, 1, true]", weight=40)
def labels(data: bytes) -> None:
    from sgi.engine.agreement.labels import read_labels

    with suppress(ValueError, RecursionError):
        value = json.loads(data)
        values = value if isinstance(value, list) else [value]
        try:
            read_labels("human", values, [str(k) for k in range(len(values))])
        except SgiError as error:
            str(error)


@target(b'{"pooling_mode_mean_tokens": true, "max_seq_length": 128}', weight=20)
def model_settings(data: bytes) -> None:
    from sgi.embed.files import settings

    settings(saved("config.json", data))


@cache
def _tokenizer() -> Any:
    from importlib.resources import files

    from sgi.embed.tokenize import open_tokenizer

    return open_tokenizer(Path(str(files("sgi") / "data" / "bert_vocab.txt")), 128)


@target("Café 日本 \u202e a\x00b".encode(), weight=30)
def tokens(data: bytes) -> None:
    from sgi.embed.tokenize import token_counts, tokenize

    for text in (data.decode("utf-8", "replace"), data.decode("utf-8", "surrogateescape")):
        tokenize(_tokenizer(), [text])
    token_counts(_tokenizer(), [data.decode("utf-8", "replace")])


@target(b"The tower is 330 m tall, built in 1889 by Eiffel.\x00It is 312 m tall.", weight=2)
def check(data: bytes) -> None:
    """The analysis behind ``sgi check``: passage and answer, divided by NUL."""
    from sgi.engine.evaluate import evaluate
    from sgi.kernel.sample import Sample

    passage, _, answer = data[:2000].decode("utf-8", "replace").partition("\0")
    evaluate([Sample(id="a", contexts=(passage,), response=answer)], "grounding")


@target(b"100MB", b"1.5 kb", weight=10)
def sizes(data: bytes) -> None:
    from sgi.kernel.limits import size_in_bytes

    size_in_bytes(data.decode("utf-8", "replace"))


BENCHMARKS = {
    b"halueval": b'{"knowledge": "k", "question": "q", "right_answer": "r", "hallucinated_answer": "h"}',
    b"squad": b'{"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q",'
    b' "answers": [{"text": "a", "answer_start": 0}]}]}]}]}',
    b"ragtruth": b'{"id": "1", "task_type": "QA", "response": "r", "labels": [], "source_info": {"question": "q",'
    b' "passages": "p"}}',
    b"begin": b'{"knowledge": "k", "message": "m", "response": "r", "begin_label": "Generic"}',
}


@target(*(name + b"\n" + row for name, row in BENCHMARKS.items()), weight=20)
def benchmarks(data: bytes) -> None:
    from sgi.io import open_dataset

    name, _, rest = data.partition(b"\n")
    path = saved("b.json" if name == b"squad" else "b.jsonl", rest)
    if name in BENCHMARKS:
        for _ in open_dataset(f"{name.decode()}:{path}").samples(on_reject=lambda row: str(row.error)):
            pass


@contextmanager
def _database() -> Iterator[Any]:
    """An empty database of runs, in memory."""
    from sgi.store.database import open_database

    template = folder() / "template.db"
    if not template.exists():
        open_database(template).close()
    shutil.copyfile(template, folder() / "work.db")
    with open_database(folder() / "work.db") as database:
        yield database


@seeds_of("old_evals")
def _old_evals() -> list[bytes]:
    import sqlite3

    path = folder() / "seed.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "PRAGMA page_size = 512;"
        "CREATE TABLE evals (id TEXT, test_run_id TEXT, qa_pair_id TEXT, question TEXT, answer TEXT, bleu REAL,"
        " groundedness REAL, groundedness_reasoning TEXT, created_at TEXT);"
        "INSERT INTO evals VALUES ('e1', 'monday', 'q1', 'Who?', 'A', 0.25, 3, 'because', '2025-01-01');"
        "INSERT INTO evals VALUES ('e2', 'tuesday', 'q1', 'Why?', NULL, NULL, 'x', NULL, NULL);"
    )
    connection.close()
    return [path.read_bytes()]


@target(weight=4)
def old_evals(data: bytes) -> None:
    from sgi.store.old_evals import import_evals

    with _database() as database:
        import_evals(database, saved("old.sqlite", data))


@seeds_of("database_file")
def _database_file() -> list[bytes]:
    import sqlite3

    from sgi.store.old_evals import import_evals

    with _database() as database:
        import_evals(database, saved("old.sqlite", SEEDS["old_evals"]()[0]))
    small = folder() / "small.db"
    small.unlink(missing_ok=True)
    connection = sqlite3.connect(folder() / "work.db", isolation_level=None)
    connection.execute("PRAGMA page_size = 512")
    connection.execute("VACUUM INTO ?", (str(small),))
    connection.close()
    return [small.read_bytes()]


@target(weight=4)
def database_file(data: bytes) -> None:
    """Open a damaged database, list its runs, and read every row of every table."""
    from sgi.store.database import open_database
    from sgi.store.queries import count_runs, list_runs
    from sgi.store.transfer import export

    for ending in ("-wal", "-shm"):
        (folder() / f"fuzz.db{ending}").unlink(missing_ok=True)
    with open_database(saved("fuzz.db", data), create=False) as database:
        for step in (list_runs, lambda found: count_runs(found, search="a")):
            with suppress(SgiError):
                step(database)
        export(database, folder() / "read.jsonl")


@seeds_of("database_export")
def _database_export() -> list[bytes]:
    from sgi.store.old_evals import import_evals
    from sgi.store.transfer import export

    with _database() as database:
        import_evals(database, saved("old.sqlite", SEEDS["old_evals"]()[0]))
        export(database, folder() / "seed.jsonl")
    return [(folder() / "seed.jsonl").read_bytes()]


@target(weight=4)
def database_export(data: bytes) -> None:
    from sgi.store.transfer import import_

    with _database() as database:
        import_(database, saved("in.jsonl", data))


TARGETS.update(
    {run.__name__: Target(run, lambda seed=seed: [seed()], 2) for run, seed in IMPORT_SEEDS.items()}
)
