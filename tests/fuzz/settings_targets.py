"""Targets that read settings, replies, requests, texts and a database."""

import json
import shutil
import sqlite3
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from fuzz.registry import SEEDS, folder, saved, seeds_of, target
from sgi.kernel.errors import SgiError


@target(
    b'data = "a.csv"\nmetrics = ["sgi", "rouge_l(beta=1.2)"]\nmax_failures = "5%"\n[columns]\nquestion = "ask"\n'
    b'[judge]\nmodel = "openai:m@http://127.0.0.1:1/v1"\nmax_cost = 1.5\n',
    b'data = "a.jsonl"\nembedders = "minilm"\ncascade = "alpha=0.1,labelled=b.jsonl"\n[target]\n'
    b'where = "http://127.0.0.1:1/ask"\nrate = 60\nbody = {a = [1, {b = 2}]}\nheaders = {X-Key = "${K}"}\n',
    weight=40,
)
def run_options(data: bytes) -> None:
    from sgi.engine.open_resources import read_options
    from sgi.engine.run_options import RunOptions

    path = saved("run.toml", data)
    RunOptions.of(read_options(path), source=str(path)).to_dict()


@target(b'coverage = 0.9\n[[rule]]\nmetric = "sgi"\nat_least = 0.8\nmax_drop = 0.02\n', weight=40)
def gate_rules(data: bytes) -> None:
    from sgi.analysis.gate.rules import read_rules

    read_rules(saved("rules.toml", data))


@target(b"rouge_l(beta=1.2)", b'lexical_aggregate(weights=(1, 2), x="y")', weight=30)
def metric_name(data: bytes) -> None:
    from sgi.kernel.registry import metric

    _ = metric(data.decode("utf-8", "replace")).canonical


@target(b"faithfulness >= 0.8", b"rouge_l(beta=1.2)<.3", weight=30)
def gate_expression(data: bytes) -> None:
    from sgi.analysis.gate.rules import parse_rule

    parse_rule(data.decode("utf-8", "replace"))


@seeds_of("calibration")
def _calibration() -> list[bytes]:
    from support.calibration_files import calibration_file

    return [calibration_file().to_json().encode()]


@target(weight=40)
def calibration(data: bytes) -> None:
    from sgi.engine.calibration_file import read_calibration

    read_calibration(saved("c.json", data))


@target(b"alpha=0.05,labelled=a,b.jsonl", b'{"alpha": 0.1, "learnt": {"threshold": 0.5}}', weight=30)
def cascade(data: bytes) -> None:
    from sgi.engine.cascade import parse_cascade

    parse_cascade(data.decode("utf-8", "replace"))
    with suppress(ValueError, RecursionError):
        value = json.loads(data)
        parse_cascade(value)


@target(
    b'{"format": "sgi judge cassette", "version": 1, "fingerprint": "m", "judge": {"model": "openai:m"}}\n'
    b'{"call": "00ff", "schema": "V", "reply": {"text": "{}", "finish": "stop", "refusal": "", "input_tokens": 1,'
    b' "output_tokens": 2}}\n{"call": "01", "schema": "V", "error": {"kind": "JudgeRefusedError", "message": "no",'
    b' "hint": ""}}\n',
    weight=40,
)
def cassette(data: bytes) -> None:
    from sgi.llm.calls import UsageCounter
    from sgi.llm.cassette import CassettePlayer, cassette_judge

    path = saved("c.jsonl", data)
    with suppress(SgiError):
        cassette_judge(path)
    CassettePlayer(path, UsageCounter())


@target(b'{"verdicts": [{"index": 1}]}', b'Here: ```json\n{"index": 2}\n```', b"I'm sorry, no.", weight=60)
def judge_reply(data: bytes) -> None:
    from sgi.kernel.prompts import Verdict
    from sgi.llm.calls import Completion
    from sgi.llm.parse_reply import InvalidReplyError, parse_reply

    for text in (data.decode("utf-8", "replace"), data.decode("utf-8", "surrogateescape")):
        with suppress(InvalidReplyError):
            parse_reply(Completion(text), Verdict)


@target(
    b'{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,'
    b' "finish_reason": "stop", "message": {"role": "assistant", "content": "{}"}}], "usage": {"total_tokens": 3}}',
    weight=20,
    expected=(ValueError,),  # the chat makes it a JudgeMalformedError
)
def chat_completion(data: bytes) -> None:
    from sgi.llm.envelope import ErrorReplyError, NoChoicesError, read_completion

    with suppress(ErrorReplyError, NoChoicesError):  # the client makes them errors of the service
        read_completion(orjson.loads(data))


@target(
    b'{"data": [{"index": 1, "embedding": [0.5, 1]}, {"index": 0, "embedding": "AACAPwAAgD8="}]}',
    weight=30,
    expected=(ValueError,),  # the embedder makes it an EmbedderError
)
def embeddings(data: bytes) -> None:
    from sgi.models.embedder.remote import _rows

    _rows(data, 2)


@cache
def _http_target() -> Any:
    from sgi.target.http import HttpTarget
    from sgi.target.target_spec import TargetSpec

    spec = TargetSpec(where="http://127.0.0.1:1/a", answer_field="out.text", contexts_field="sources.*.text?")
    return HttpTarget(spec, None, url=spec.where, body={}, secrets=["a-secret"])


@target(b'{"out": {"text": "Mars"}, "sources": [{"text": "Mars is red."}]}', weight=60)
def target_reply(data: bytes) -> None:
    _http_target()._reply(data)


@target(b'[{"a": [{"b": 1}]}, "a.*.b"]', b'[[1, 2], "0"]', weight=40, expected=(LookupError, ValueError))
def json_path(data: bytes) -> None:
    from sgi.kernel.raw_values import check_path, get_path, set_path

    value: Any = None
    with suppress(RecursionError):
        value = json.loads(data)
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[1], str)):
        return
    document, path = value
    check_path(path, every=True)
    if isinstance(document, dict):
        with suppress(ValueError):
            set_path(document, path, "x")
    get_path(document, path)


@target(b'{"rows": [{"id": "a", "question": "Who?", "contexts": ["One."], "response": "She."}]}',
        b'{"rows": [{"response": "a", "reference": "b"}], "metrics": ["rouge_l(beta=1.2)"], "details": true}',
        weight=30)  # fmt: skip
def api_score(data: bytes) -> None:
    from sgi_web.api.bodies import read_score_request

    read_score_request(data)


@target(b"q=Paris&metric=sgi&low=0.5&high=1e3&label=1&sort=lowest&page=2&rc_low=0&by=k&is=v", weight=40)
def url_filters(data: bytes) -> None:
    from urllib.parse import parse_qsl

    from sgi_web.row_table import RowParameters

    values = dict(parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True))
    with suppress(ValueError):
        parameters = RowParameters.model_validate(values)
        parameters.filters()
        parameters.query()


@target(b'["yes", "No", null, 1, 0.5]', b"[0, 1, true]", weight=40)
def labels(data: bytes) -> None:
    from sgi.analysis.labels import read_labels

    with suppress(ValueError, RecursionError):
        value = json.loads(data)
        values = value if isinstance(value, list) else [value]
        try:
            read_labels("human", values, [str(k) for k in range(len(values))])
        except SgiError as error:
            str(error)


@target(b'{"pooling_mode_mean_tokens": true, "max_seq_length": 128}', weight=20)
def model_settings(data: bytes) -> None:
    from sgi.models.model_files import read_settings

    read_settings(saved("config.json", data))


@cache
def _tokenizer() -> Any:
    from importlib.resources import files

    from sgi.models.tokenizer import open_tokenizer

    return open_tokenizer(Path(str(files("sgi") / "data" / "bert_vocab.txt")))


@target("Café 日本 \u202e a\x00b".encode(), weight=30)
def tokens(data: bytes) -> None:
    from sgi.models.tokenizer import tokenize

    for text in (data.decode("utf-8", "replace"), data.decode("utf-8", "surrogateescape")):
        tokenize(_tokenizer(), [text])
        tokenize(_tokenizer(), [text], 128)


@cache
def _embedder() -> Any:
    from sgi.models.embedder.load_embedder import load_embedder

    return load_embedder("minilm")


@target(b"The tower is 330 m tall, built in 1889 by Eiffel.\x00It is 312 m tall.", weight=2)
def check(data: bytes) -> None:
    """The analysis behind ``sgi check``: passage and answer, divided by NUL."""
    from sgi.engine.evaluate import evaluate
    from sgi.kernel.sample import Sample

    passage, _, answer = data[:2000].decode("utf-8", "replace").partition("\0")
    sample = Sample(id="a", contexts=(passage,), response=answer)
    evaluate([sample], "grounding", _embedder(), cache=False)


@target(b"100MB", b"1.5 kb", weight=10)
def sizes(data: bytes) -> None:
    from sgi.kernel.input_limits import size_in_bytes

    size_in_bytes(data.decode("utf-8", "replace"))


@seeds_of("old_evals")
def _old_evals() -> list[bytes]:
    path = folder() / "seed.sqlite"
    path.unlink(missing_ok=True)
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
    from sgi.store.database import open_database
    from sgi.store.legacy_import import import_evals

    work, empty = folder() / "work.db", folder() / "empty.db"
    if not empty.exists():
        open_database(empty).close()
    shutil.copyfile(empty, work)
    with open_database(work) as database:
        import_evals(database, saved("old.sqlite", data))


@seeds_of("database_file")
def _database_file() -> list[bytes]:
    from sgi.store.database import open_database
    from sgi.store.legacy_import import import_evals

    work, small = folder() / "work.db", folder() / "small.db"
    with open_database(work) as database:
        import_evals(database, saved("old.sqlite", SEEDS["old_evals"]()[0]))
    small.unlink(missing_ok=True)
    connection = sqlite3.connect(work, isolation_level=None)
    connection.execute("PRAGMA page_size = 512")
    connection.execute("VACUUM INTO ?", (str(small),))
    connection.close()
    return [small.read_bytes()]


@target(weight=4)
def database_file(data: bytes) -> None:
    """Open a damaged database, list its runs, and read every row of every table."""
    from sgi.store.database import open_database
    from sgi.store.run_queries import count_runs, list_runs
    from sgi.store.transfer import export

    for ending in ("-wal", "-shm"):
        (folder() / f"fuzz.db{ending}").unlink(missing_ok=True)
    with open_database(saved("fuzz.db", data), create=False) as database:
        for step in (list_runs, lambda found: count_runs(found, search="a")):
            with suppress(SgiError):
                step(database)
        export(database, folder() / "read.jsonl")
