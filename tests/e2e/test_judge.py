"""Judged runs by the command, against servers that misbehave: no bad reply becomes a score."""

import json
import re
import threading

import pytest

from support import command
from support.judge_server import JudgeServer, ServerReply
from support.judged_runs import rows_file

GATE_NOT_MET = 4
FINISHED_WITH_FAILURES = 3
CLAIMS = json.dumps({"claims": ["One.", "Two.", "Three.", "Four.", "Five."]})


def verdict(index, supported=1):
    return {
        "index": index,
        "reason": "It is said.",
        "supported": supported,
        "passage": 1 if supported else None,
    }


def verdicts(*of):
    return json.dumps({"verdicts": [verdict(*each) for each in of]})


GOOD = verdicts((1,), (2,), (3,), (4,), (5,))
RETURNED = {
    "five claims and a list cut to one verdict": (verdicts((1,)), "5 verdicts were wanted"),
    "two as a verdict": (GOOD.replace('"supported": 1', '"supported": 2'), "supported"),
    "no JSON at all": ("They all look fine to me.", "JSON"),
    "a refusal": (ServerReply(content=None, refusal="I will not judge this."), "declined"),
    "a reply cut at the token limit": (ServerReply(content=GOOD[:40], finish="length"), "max_tokens"),
}


def sgi(folder, *words, cache="cache"):
    return command.sgi(folder, *words, SGI_CACHE_DIR=str(folder / cache), NO_PROXY="127.0.0.1")


def about_verdicts(asked):
    return "verdicts" in json.dumps(asked.body["response_format"])


def saying(reply):
    """Claims where claims are wanted; the reply in question where they are judged."""

    def answer(asked):
        if about_verdicts(asked):
            return reply if isinstance(reply, ServerReply) else ServerReply(reply)
        return ServerReply(CLAIMS)

    return answer


def run(folder, server, *words, rows=1):
    rows_file(folder, rows)
    judge = ("--judge", f"openai:m@{server.url}", "--max-failures", "100%")
    return sgi(folder, "run", "rows.jsonl", "-m", "faithfulness", "-q", *judge, *words)


def test_a_sound_judge_gives_the_score_that_the_table_would_fake(tmp_path):
    with JudgeServer(replies=saying(verdicts((1,), (2, 0), (3,), (4, 0), (5,)))) as server:
        result = run(tmp_path, server, "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["metrics"][0]["mean"] == pytest.approx(0.6)


@pytest.mark.parametrize(("reply", "reason"), RETURNED.values(), ids=RETURNED)
def test_the_judge_returned_and_ours_is_failed_with_a_reason(tmp_path, reply, reason):
    with JudgeServer(replies=saying(reply)) as server:
        result = run(tmp_path, server, "-o", "scores.jsonl")
        gate = sgi(tmp_path, "gate", "last", "faithfulness>=0.01")
    assert result.code == FINISHED_WITH_FAILURES, result.err
    assert re.search(
        r"faithfulness +– +– +0 / 1 +1 failed", result.out
    )  # the headline says how many there are
    scored = json.loads((tmp_path / "scores.jsonl").read_text())["scores"]["faithfulness"]
    assert (scored["value"], scored["status"]) == (None, "failed")
    assert reason in scored["reason"]
    assert gate.code == GATE_NOT_MET, gate.out


def test_too_many_failures_stop_the_run_and_it_resumes_without_new_requests(tmp_path):
    rows_file(tmp_path, 3)
    with JudgeServer(replies=saying("no")) as server:
        judge = ("--judge", f"openai:m@{server.url}")
        stopped = sgi(tmp_path, "run", "rows.jsonl", "-m", "faithfulness", "-q", *judge)
        calls = len(server.requests)
        assert stopped.code == 2
        assert "100% of the first 3 rows failed" in stopped.err
        assert "--resume" in stopped.err
        assert "or raise --max-failures" in sgi(tmp_path, "show", "last").out
        lenient = sgi(tmp_path, "run", "-q", "--resume", "last", "--trust-target", "--max-failures", "100%")
        assert lenient.code == FINISHED_WITH_FAILURES, lenient.err
        assert len(server.requests) == calls  # bad replies were paid too, and are known


def test_a_new_run_over_cached_bad_replies_says_so_and_how_to_ask_again(tmp_path):
    rows_file(tmp_path, 2)
    replies = {"now": saying("Well, \x1b[31mthat depends.")}

    def answer(asked):
        return replies["now"](asked)

    with JudgeServer(replies=answer) as server:
        words = ("run", "rows.jsonl", "-m", "faithfulness", "--judge", f"openai:m@{server.url}")
        lenient = (*words, "--max-failures", "100%")
        first = sgi(tmp_path, *lenient)
        assert (first.code, "cached replies" in first.err) == (FINISHED_WITH_FAILURES, False)
        calls = len(server.requests)
        second = sgi(tmp_path, *lenient)
        assert second.code == FINISHED_WITH_FAILURES
        assert "2 rows failed because a cached reply of the judge was invalid" in second.err
        assert "--retry-failed" in second.err
        stopped = sgi(tmp_path, *words)
        assert "2 of them failed from unusable cached replies of the judge." in stopped.err
        assert "--retry-failed" in stopped.err
        assert len(server.requests) == calls
        replies["now"] = saying(GOOD)
        third = sgi(tmp_path, *words, "--retry-failed")
        assert (third.code, "2 / 2" in third.out) == (0, True), third.err
    output = sgi(tmp_path, "show", "last~2", "--sample", "0").out
    assert "judge_reply: Well, \N{REPLACEMENT CHARACTER}[31mthat depends." in output
    assert "reply_from_cache: yes" in output


def test_only_failed_rows_are_judged_again_on_request(tmp_path):
    sound = threading.Event()

    def answer(asked):
        if not about_verdicts(asked):
            return ServerReply(CLAIMS)
        return ServerReply(GOOD if sound.is_set() or "It is 1." in json.dumps(asked.body) else "no")

    with JudgeServer(replies=answer) as server:
        assert run(tmp_path, server, rows=3).code == FINISHED_WITH_FAILURES
        calls = len(server.requests)
        sound.set()
        result = sgi(tmp_path, "run", "-q", "--resume", "last", "--trust-target", "--retry-failed")
    assert result.code == 0, result.err
    assert "3 / 3" in result.out
    assert len(server.requests) == calls + 2  # one verdict for each of the two rows; their claims are known


def test_a_recorded_run_is_replayed_to_the_bit_without_key_or_server(tmp_path):
    rows_file(tmp_path, 3)
    run_words = ("rows.jsonl", "-m", "faithfulness", "--no-store", "-q", "--json")
    with JudgeServer(replies=saying(GOOD)) as server:
        judge = ("--judge", f"openai:m@{server.url}")
        recorded = sgi(tmp_path, "judge", "record", "calls.jsonl", *run_words, *judge)
        assert recorded.code == 0, recorded.err
        calls = len(server.requests)
    replay = ("judge", "replay", "calls.jsonl", *run_words)
    replayed = sgi(tmp_path, *replay, cache="new")
    assert replayed.code == 0, replayed.err
    assert json.loads(replayed.out) == json.loads(recorded.out)
    other = sgi(tmp_path, *replay, "--judge", "openai:other", cache="new")
    assert other.code == 2
    assert "recorded from another judge: model differs" in other.err
    assert calls == 6


def test_a_dry_run_asks_nobody_and_says_what_it_would_take(tmp_path):
    rows_file(tmp_path, 4)
    words = ("run", "rows.jsonl", "-m", "faithfulness", "--dry-run", "--json", "-q", "--judge")
    priced = sgi(tmp_path, *words, "openai:gpt-4o-mini")
    facts = json.loads(priced.out)
    assert facts["judge_calls"] == 8
    assert facts["judge_input_tokens"] > 8 * 100
    assert 0 < facts["judge_cost"] < 0.1
    unknown = sgi(tmp_path, *words, "openai:m@http://127.0.0.1:9/v1")
    assert json.loads(unknown.out)["judge_cost"] is None


def test_a_run_stops_before_it_costs_more_than_it_may(tmp_path):
    rows_file(tmp_path, 30)
    with JudgeServer(replies=saying(GOOD)) as server:
        prices = ("--judge-set", "input_price=1000", "--judge-set", "output_price=1000")  # 11 cents a call
        judge = ("--judge", f"openai:m@{server.url}", *prices, "--max-cost", "1", "--judge-concurrency", "1")
        stopped = sgi(tmp_path, "run", "rows.jsonl", "-m", "faithfulness", "-q", *judge)
        assert stopped.code == 2, stopped.err
        assert "--resume" in stopped.err
        assert len(server.requests) <= 9
        facts = json.loads(sgi(tmp_path, "show", "last", "--json").out)
    assert facts["usage"]


def test_a_judged_metric_without_a_judge_is_one_error_before_any_work(tmp_path):
    rows_file(tmp_path, 1)
    result = sgi(tmp_path, "run", "rows.jsonl", "-m", "faithfulness", "-q")
    assert result.code == 2
    assert "A judge is needed for faithfulness" in result.err
    assert not (tmp_path / "sgi.db").exists()
