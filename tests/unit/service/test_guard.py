"""The guard: verdicts on whole and streamed answers, errors, counts, and the withdrawal of the promise."""

from __future__ import annotations

import json
import threading
from types import MappingProxyType

import anyio
import pytest

import sgi
from sgi.kernel.errors import UsageError
from sgi.metrics.grounding.streaming import MAX_QUESTION, SENTENCE_MARGIN, StreamedAnswer
from sgi.service import guard as guard_module
from sgi.service.guard_file import GuardFile, fit_guard
from support.guards import good_rows

PASSAGES = ["The tower is 330 m tall. It stands in Paris, and Eiffel built it in 1889."]
GOOD = "The tower is 330 m tall. It stands in Paris. Eiffel built it in 1889."
BAD = "The tower is 330 m tall. It was sold to 40 Spanish investors. It stands in Paris."


@pytest.fixture(scope="module")
def file():
    fitted = fit_guard(good_rows(60)).file
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


@pytest.mark.parametrize("options", [{"on_error": "ignore"}, {"timeout": 0}, {"timeout": -1}])
def test_a_wrong_option_is_refused(file, options):
    with pytest.raises(UsageError, match=next(iter(options))):
        sgi.Guard(file, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "the file has format 2; this version reads format 1"),
        ({"limit": 0.4}, "the file was changed since it was fitted"),
        ({"digest": None}, "the file was changed since it was fitted"),
        ({"limit": 2}, "the file is not a guard: limit"),
        ({"more": 1}, "the file is not a guard: more"),
    ],
)
def test_a_damaged_file_is_refused(file, tmp_path, change, message):
    path = tmp_path / "guard.json"
    path.write_text(json.dumps(json.loads(file.to_json()) | change))
    with pytest.raises(UsageError, match=message) as error:
        sgi.Guard(path)
    assert "Fit the guard again" in error.value.hint


@pytest.mark.parametrize("content", ["{}", "[]", '{"format": 1', '{"format": 1}'])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "guard.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"guard\.json"):
        sgi.Guard(str(path))


@pytest.mark.parametrize("change", [{"version": 5}, {"metric": "sgi"}, {"margin": SENTENCE_MARGIN + 1}])
def test_a_file_for_another_metric_is_refused(file, change):
    other = GuardFile(**file.model_dump(exclude={"digest", *change}), **change)
    with pytest.raises(UsageError, match="was fitted with version") as error:
        sgi.Guard(other)
    assert "sgi guard fit" in error.value.hint


def test_a_file_is_read_as_it_was_written(file, tmp_path):
    path = tmp_path / "guard.json"
    path.write_text(file.to_json())
    assert sgi.Guard(path).file == sgi.Guard(json.loads(path.read_text())).file == file


@pytest.mark.parametrize(
    ("contexts", "response"), [(None, GOOD), ([None], GOOD), (PASSAGES, None), (3, GOOD), (PASSAGES, 3.5)]
)
def test_values_of_another_type_are_errors(guard, contexts, response):
    verdict = guard.check("", contexts, response)
    assert verdict.blocked
    assert verdict.error


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


class Pieces:
    """An answer in pieces, as a client of a model gives it."""

    def __init__(self, *pieces):
        self.pieces, self.closed = iter(pieces), False

    def __aiter__(self):
        return self

    async def __anext__(self):
        try:
            return next(self.pieces)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self):
        self.closed = True


def streamed_pieces(guard, pieces):
    async def work():
        return [each async for each in guard.stream("", PASSAGES, pieces)]

    return anyio.run(work)


def test_an_empty_piece_does_not_end_the_answer(guard):
    verdicts = streamed_pieces(
        guard, Pieces("The tower is 330 m tall. ", None, "It stands ", None, "in Paris.")
    )
    assert "".join(each.text for each in verdicts) == "The tower is 330 m tall. It stands in Paris."
    assert not verdicts[-1].blocked


def test_the_source_of_a_blocked_answer_is_closed(guard):
    pieces = Pieces("It was sold to 40 Spanish investors. ", "It stands in Paris. ", "It is red.")
    assert streamed_pieces(guard, pieces)[-1].blocked
    assert pieces.closed


def test_a_long_question_is_read_up_to_a_limit(guard):
    answer = StreamedAnswer("word " * 100_000, PASSAGES)
    assert len(answer._empty.sample.question) == MAX_QUESTION
    assert guard.check("word " * 100_000, PASSAGES, GOOD) == guard.check("word " * 400, PASSAGES, GOOD)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"promise": 0.01}, "60 questions can promise 0.0487"),
        ({"limit": 0.0}, "limit: Input should be greater than 0"),
        (
            {"traffic": ({"value": "to\x1bkens", "side": "below", "limit": 1.0, "share": 0.5},)},
            "no test of traffic is below a limit of",
        ),
    ],
)
def test_a_file_that_promises_or_tests_what_is_not_possible_is_refused(file, changes, message):
    content = json.loads(file.to_json()) | changes
    with pytest.raises(UsageError, match=message) as raised:
        sgi.Guard(content)
    assert str(raised.value).isprintable()


def test_a_path_of_another_type_and_a_mapping_are_read(file, tmp_path):
    class Place:
        def __fspath__(self):
            return str(tmp_path / "guard.json")

    (tmp_path / "guard.json").write_text(file.to_json())
    content = MappingProxyType(json.loads(file.to_json()))
    assert sgi.Guard(Place()).file == sgi.Guard(content).file == file
