"""The guard: verdicts on whole and streamed answers, errors, counts, and the withdrawal of the promise."""

from __future__ import annotations

import threading

import anyio
import pytest

import sgi
from sgi.kernel.errors import UsageError
from sgi.metrics.grounding.streaming import StreamedAnswer
from sgi.service import guard as guard_module
from sgi.service.guard_file import GuardFile
from support.guards import fitted_guard, good_rows

PASSAGES = ["The tower is 330 m tall. It stands in Paris, and Eiffel built it in 1889."]
GOOD = "The tower is 330 m tall. It stands in Paris. Eiffel built it in 1889."
BAD = "The tower is 330 m tall. It was sold to 40 Spanish investors. It stands in Paris."

SECRET = {"key": "secret"}


@pytest.fixture(scope="module")
def file():
    fitted = fitted_guard()
    # A limit below the good answers here, which are copied from their passages.
    return GuardFile(**fitted.model_dump(exclude={"digest", "limit"}), limit=0.5)


@pytest.fixture
def guard(file):
    return sgi.Guard(file)


async def chunked(text, size=5, read=None):
    for start in range(0, len(text), size):
        if read is not None:
            read.append(start)
        yield text[start : start + size]


def streamed(guard, text, passages=PASSAGES, **options):
    async def work():
        return [each async for each in guard.stream("", passages, chunked(text, **options))]

    return anyio.run(work)


def test_a_good_answer_is_allowed_with_the_promise(guard, file):
    verdict = guard.check("", PASSAGES, GOOD)
    assert (verdict.blocked, verdict.reason, verdict.promise) == (False, "", file.promise)
    assert verdict.score > 0.9


def test_a_bad_answer_is_blocked_and_the_reason_names_the_sentence(guard):
    verdict = guard.check("", PASSAGES, BAD)
    assert verdict.blocked
    assert verdict.reason == (
        'sentence 2 is not supported: "It was sold to 40 Spanish investors." (number 40 is in no passage)'
    )


def test_a_contradiction_is_named(guard):
    verdict = guard.check("", PASSAGES, "The tower is 312 m tall.")
    assert verdict.blocked
    assert verdict.reason.endswith('(passage 1 says "330 m")')


def test_untrusted_text_in_a_reason_is_short_and_printable(guard):
    reason = guard.check("", PASSAGES, "It was sold\x1b[31m to 40 " + "Spanish " * 200 + "men.").reason
    assert len(reason) < 400
    assert "\x1b" not in reason


@pytest.mark.parametrize("text", [GOOD, BAD, "Paris", "I don't know.", "", "- Paris\n- Rome\n"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_streamed_answer_has_the_verdict_of_the_whole_one(guard, text, size):
    whole = guard.check("", PASSAGES, text)
    *sentences, last = streamed(guard, text, size=size)
    assert (last.blocked, last.sentence, last.text) == (whole.blocked, None, "")
    assert [each.sentence for each in sentences] == [*range(1, len(sentences) + 1)]
    if not whole.blocked:
        assert last == whole
        assert "".join(each.text for each in sentences) == text


def test_after_a_blocked_sentence_nothing_more_is_read(guard):
    read = []
    *sentences, last = streamed(guard, BAD + " It is red." * 100, read=read)
    assert [each.blocked for each in (*sentences, last)] == [False, True, True]
    assert sentences[-1].text == "It was sold to 40 Spanish investors. "
    assert last.reason == sentences[-1].reason
    assert len(read) * 5 < len(BAD) + 5
    assert (guard.counts.checked, guard.counts.blocked) == (1, 1)


def test_an_abandoned_stream_is_not_counted(guard):
    async def work():
        stream = guard.stream("", PASSAGES, chunked(GOOD))
        await anext(stream)
        await stream.aclose()

    anyio.run(work)
    assert guard.counts.checked == 0


def test_an_answer_without_claims_is_allowed(guard):
    for passages in (PASSAGES, []):
        verdict = guard.check("How heavy is it?", passages, "I don't know.")
        assert (verdict.blocked, verdict.score, verdict.error) == (False, None, "")
        assert verdict.reason == "the response claims nothing that passages could support"


@pytest.mark.parametrize("on_error", ["allow", "block"])
def test_an_answer_without_passages_is_an_error(file, on_error):
    guard = sgi.Guard(file, on_error=on_error)
    verdict = guard.check("", [], GOOD)
    assert (verdict.blocked, verdict.score, verdict.promise) == (on_error == "block", None, None)
    assert verdict.error == "there are no passages"
    *sentences, last = streamed(guard, GOOD, [])
    assert last == verdict
    assert len(sentences) == (1 if on_error == "block" else 3)
    assert (guard.counts.checked, guard.counts.errors) == (2, 2)
    assert guard.counts.blocked == (2 if on_error == "block" else 0)


@pytest.mark.parametrize("on_error", ["allow", "block"])
def test_a_failure_is_an_error(file, on_error, monkeypatch):
    def fails(*_):
        raise ValueError("no\x1bmemory")

    expect_error(sgi.Guard(file, on_error=on_error), fails, "ValueError: no memory", monkeypatch)


def test_a_timeout_is_an_error(file, monkeypatch):
    over = threading.Event()
    guard = sgi.Guard(file, on_error="allow", timeout=0.05)
    expect_error(guard, lambda *_: over.wait(60), "the time is over", monkeypatch)
    over.set()


def test_threads_are_bounded_and_a_full_guard_is_an_error(file, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(guard_module, "read_answer", lambda *_: over.wait(60))
    monkeypatch.setattr(guard_module, "_MOST_RUNNING", 2)
    guard = sgi.Guard(file, timeout=0.05)
    before = threading.active_count()
    errors = [guard.check("", PASSAGES, GOOD).error for _ in range(3)]
    assert threading.active_count() <= before + 2
    errors += [anyio.run(guard.acheck, "", PASSAGES, GOOD).error]
    over.set()
    assert errors == ["the time is over"] * 2 + ["too many checks are running"] * 2
    while guard.check("", PASSAGES, GOOD).error == "too many checks are running":
        pass


def test_slow_and_foreign_texts_and_reasons_are_not_analysed_in_the_event_loop(guard, monkeypatch):
    threads = {}

    def note(name):
        function = getattr(StreamedAnswer, name)

        def noted(self, *args):
            threads.setdefault(args and args[0], set()).add(threading.current_thread())
            return function(self, *args)

        monkeypatch.setattr(StreamedAnswer, name, noted)

    note("support")
    reasons = []
    why = guard_module._why
    monkeypatch.setattr(
        guard_module, "_why", lambda *args: reasons.append(threading.current_thread()) or why(*args)
    )
    german = "Der Turm steht seit dem Jahr 1889 am Ufer der Seine und ist rot. "
    streamed(guard, f"It is tall. {german}It is tall.", [*PASSAGES, GOOD])
    main = {threading.main_thread()}
    assert threads["It is tall. "] == main
    assert not threads[german] & main
    threads.clear()
    streamed(guard, BAD, [*PASSAGES, "It is red. " * 5000])
    assert not set.union(*threads.values()) & main
    anyio.run(guard.acheck, "", PASSAGES, BAD)
    assert len(reasons) >= 2
    assert threading.main_thread() not in reasons[-2:]


@pytest.mark.parametrize("on_error", ["allow", "block"])
def test_a_piece_that_is_not_a_text_is_an_error(file, on_error):
    guard = sgi.Guard(file, on_error=on_error)

    async def chunks():
        for piece in ("The tower is 330 m tall. It ", None, 3, "stands in Paris."):
            yield piece

    async def work():
        return [each async for each in guard.stream("", PASSAGES, chunks())]

    *sentences, last = anyio.run(work)
    assert last.error == "a piece of the answer is not a text but int"
    assert last.blocked == (on_error == "block")
    text = "The tower is 330 m tall. " + ("" if last.blocked else "It stands in Paris.")
    assert "".join(each.text for each in sentences) == text
    assert guard.counts.errors == 1


@pytest.mark.parametrize("name", ["aclose", "close"])
def test_the_source_is_closed_after_a_block(guard, name):
    closed = []

    class Source:
        def __init__(self):
            self.pieces = iter([BAD, " It is red."])

        def __aiter__(self):
            return self

        async def __anext__(self):
            return next(self.pieces)

    async def close(self):
        closed.append(name)

    setattr(Source, name, close)

    async def work():
        return [each async for each in guard.stream("", PASSAGES, Source())]

    assert anyio.run(work)[-1].blocked
    assert closed == [name]


def test_answers_that_are_not_observed_are_counted_and_keep_the_promise(guard):
    for _ in range(30):
        guard.check("", PASSAGES, BAD, observe=False)
    assert (guard.withdrawn, guard.counts.checked, guard.counts.blocked) == ("", 30, 30)


@pytest.mark.parametrize("on_error", ["allow", "block"])
def test_a_failing_monitor_is_an_error(file, on_error, monkeypatch):
    guard = sgi.Guard(file, on_error=on_error)
    monkeypatch.setattr(guard._monitor, "observe", lambda _: 1 / 0)
    verdict = guard.check("", PASSAGES, GOOD)
    assert (verdict.blocked, verdict.error) == (on_error == "block", "ZeroDivisionError: division by zero")


def expect_error(guard, work, error, monkeypatch):
    monkeypatch.setattr(guard_module, "read_answer", work)
    monkeypatch.setattr(guard_module, "StreamedAnswer", work)
    verdict = guard.check("", PASSAGES, GOOD)
    assert (verdict.blocked, verdict.error) == (guard.on_error == "block", error)
    assert anyio.run(guard.acheck, "", PASSAGES, GOOD) == verdict
    assert streamed(guard, GOOD)[-1] == verdict
    assert guard.counts.errors == guard.counts.checked == 3


def test_an_error_of_the_chunks_is_that_of_the_caller(guard):
    async def chunks():
        yield "It is "
        raise ConnectionError("closed")

    async def work():
        return [each async for each in guard.stream("", PASSAGES, chunks())]

    with pytest.raises(ConnectionError):
        anyio.run(work)
    assert guard.counts.checked == 0


def test_the_promise_is_withdrawn_when_traffic_changes(file):
    guard = sgi.Guard(file)
    while (verdict := guard.check("", PASSAGES, BAD)).promise is not None:
        assert guard.counts.checked < 30
    assert "fit the guard again" in verdict.withdrawn
    assert verdict.withdrawn == guard.withdrawn
    later = guard.check("", PASSAGES, GOOD)
    assert (later.blocked, later.promise, later.withdrawn) == (False, None, guard.withdrawn)
    assert guard.counts.withdrawn == 2


def test_the_promise_is_kept_for_traffic_like_the_fitted_answers(file):
    guard = sgi.Guard(file)
    for _ in range(5):
        for row in good_rows(60):
            guard.check(row["question"], row["contexts"], row["response"])
    assert (guard.withdrawn, guard.counts.withdrawn, guard.counts.checked) == ("", 0, 300)


def test_threads_share_a_guard(guard):
    expected = [guard.check("", PASSAGES, text) for text in (GOOD, BAD)]
    found = []

    def work():
        found.extend([guard.check("", PASSAGES, text) for text in (GOOD, BAD)] for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [[each.score for each in pair] for pair in found] == [[each.score for each in expected]] * 40
    assert (guard.counts.checked, guard.counts.blocked) == (82, 41)


@pytest.mark.parametrize(
    "options", [{"on_error": "ignore"}, {"timeout": 0}, {"timeout": -1}, {"timeout": "5"}, {"timeout": 1e300}]
)
def test_a_wrong_option_is_refused(file, options):
    with pytest.raises(UsageError, match=next(iter(options))):
        sgi.Guard(file, **options)


@pytest.mark.parametrize(
    ("contexts", "response"),
    [(None, GOOD), ([None], GOOD), (PASSAGES, None), (3, GOOD), (PASSAGES, 3.5), ([SECRET], GOOD)],
)
def test_values_of_another_type_are_errors(guard, contexts, response):
    verdict = guard.check("", contexts, response)
    assert verdict.blocked
    assert verdict.error
    assert "secret" not in verdict.error


def test_one_text_is_one_passage(guard):
    assert guard.check("", PASSAGES[0], GOOD) == guard.check("", PASSAGES, GOOD)


def test_texts_that_no_encoding_has_are_scored(guard):
    assert guard.check("\ud800", ["It is \udfff red. " + PASSAGES[0]], GOOD + "\ud800\x00").score is not None


@pytest.mark.parametrize("on_error", ["allow", "block"])
def test_a_low_score_counts_more_than_a_problem_elsewhere(file, on_error):
    guard = sgi.Guard(file, on_error=on_error)
    german = "Der Turm steht seit dem Jahr 1889 am Ufer der Seine und ist rot."
    text = f"It is tall. {german} It was sold to 40 Spanish investors."
    verdict = guard.check("", PASSAGES, text)
    last = streamed(guard, text)[-1]
    assert verdict.blocked
    assert last.blocked
    if on_error == "allow":
        assert (verdict.error, guard.counts.errors) == ("", 0)
        assert verdict.score == last.score < 0.5
