"""Services that send keys back in replies, errors and headers: no output or file of SGI contains a key."""

import json
from base64 import b64encode
from urllib.parse import quote

import pytest

from sgi.kernel.environment import SecretMask
from support import command
from support.judge_server import JudgeServer, ServerReply, error_reply
from support.target_server import TargetReply, TargetServer

KEY = "sk-Canary0+/Qzx90Vb7Nm"
ECHO = " ".join(
    [
        *(KEY, KEY.upper(), quote(KEY, safe=""), quote(KEY).lower(), KEY.encode().hex()),
        *(b64encode(before + KEY.encode()).decode() for before in (b"", b"u:", b"Bearer ")),
    ]
)
CUT = "y" * 290 + KEY
SAID = json.dumps({"verdicts": [{"index": 1, "reason": ECHO, "supported": 1, "passage": 1}]})
CLAIMS = json.dumps({"claims": [f"It is blue {ECHO}."]})


def judged(asked):
    return ServerReply(SAID if "verdicts" in json.dumps(asked.body["response_format"]) else CLAIMS)


REPLIES = {
    "a verdict": judged,
    "not JSON": ServerReply(ECHO),
    "a refusal": ServerReply(content=None, refusal=ECHO),
    **{f"status {status}": error_reply(status, ECHO, X_Key=KEY) for status in (400, 401, 500)},
    "an error that is cut inside the key": error_reply(400, CUT),
    "a redirect": ServerReply(status=307, headers={"Location": f"http://127.0.0.1:9/{KEY}"}),
}
TARGET_REPLIES = {
    "an answer": TargetReply.of(
        {"answer": ECHO, "contexts": [ECHO, "A handbook."], "ids": [KEY, "handbook"]}
    ),
    "an error": TargetReply.of({"detail": ECHO}, 500),
    "no answer": TargetReply.of({ECHO: 1}),
}


def outputs(folder, *words):
    """The outputs of a run and of the commands that show it, and all files of the folder, as one text."""
    row = {"id": "q", "question": "Which colour?", "contexts": ["It is blue."], "response": "It is blue."}
    (folder / "rows.jsonl").write_text(json.dumps(row))
    common = ("rows.jsonl", "--max-failures", "100%", "-o", "scores.jsonl", "--inputs")
    commands = (
        ("run", *common, *words),
        ("show", "last", "--sample", "q"),
        ("show", "last", "--json"),
        *(("report", "last", "-o", f"report.{suffix}") for suffix in ("html", "md", "json")),
        ("runs", "db", "export", "dump.jsonl"),
    )
    variables = {"OPENAI_API_KEY": KEY, "RAG_KEY": KEY, "RAG_COLLECTION": "handbook"}
    said = [
        command.sgi(folder, *line, **variables, SGI_CACHE_DIR=str(folder / "cache"), NO_PROXY="127.0.0.1")
        for line in commands
    ]
    assert [outcome.code for outcome in said][1:] == [0] * 6
    files = [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]
    assert len(files) >= 7
    return "\n".join([text for outcome in said for text in (outcome.out, outcome.err)] + files)


def check(text):
    """No form of the key is in the text, and no beginning of it that a cut could leave."""
    assert SecretMask([KEY, KEY[:12]])(text) == text


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_judge_that_sends_its_key_back(tmp_path, reply):
    judge = ("--judge-set", "retries=0", "--judge")
    with JudgeServer(replies=reply) as server:
        check(outputs(tmp_path, "-m", "faithfulness", *judge, f"openai:m@{server.url}"))


@pytest.mark.parametrize("reply", TARGET_REPLIES.values(), ids=TARGET_REPLIES)
def test_a_target_that_sends_its_header_back(tmp_path, reply):
    settings = (
        *("retries=0", "headers.Authorization=Bearer ${RAG_KEY}", "body.collection=${RAG_COLLECTION}"),
        "context_ids_field=ids?",
    )
    with TargetServer([reply]) as server:
        options = [part for setting in settings for part in ("--target-set", setting)]
        text = outputs(tmp_path, "-m", "grounding", "--target", server.url, *options)
    check(text)
    if reply.status == 200 and b"handbook" in (reply.body or b""):
        assert "A handbook." in text  # a setting that is not a credential stays in passages
