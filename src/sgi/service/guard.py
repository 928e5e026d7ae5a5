"""A guard: blocks answers that their passages do not support, with a promise on good answers."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from inspect import isawaitable
from threading import TIMEOUT_MAX, BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

import anyio
import anyio.to_thread
from pydantic import ValidationError

from sgi.kernel.errors import UsageError
from sgi.kernel.guard_verdict import GuardVerdict
from sgi.kernel.short_text import quote, short
from sgi.metrics.grounding.prepared_row import NO_CLAIMS
from sgi.metrics.grounding.streaming import SentenceReader, StreamedAnswer, Support, read_answer, score_of
from sgi.service.guard_file import ANSWER_WORDS, PASSAGE_WORDS, SCORE, GuardFile
from sgi.stats.traffic_monitor import TrafficMonitor

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence

T = TypeVar("T")

OnError = Literal["allow", "block"]
"""What happens to an answer that cannot be scored."""

_MAX_QUOTED = 120
_MOST_RUNNING = 64
"""How many checks of a guard run in threads at once, with those whose time is over: a thread goes on.
It is more than the 40 threads of an event loop, so that it is reached only if checks hang."""
_BUSY = "too many checks are running"
_HAVE = {
    SCORE: "a score",
    ANSWER_WORDS: "a length in words",
    PASSAGE_WORDS: "passages with a number of words",
}
"""What answers "have", by the value that the monitor tests."""


@dataclass(slots=True)
class GuardCounts:
    """How many answers a guard has seen.

    Attributes:
        checked: the answers that it decided on, with errors.
        blocked: those that it blocked.
        errors: those with an error, blocked or not.
        withdrawn: those for which the promise was withdrawn.
    """

    checked: int = 0
    blocked: int = 0
    errors: int = 0
    withdrawn: int = 0


class _BusyError(Exception):
    """Too many checks are running."""


class _Scored(NamedTuple):
    """A text with its score, and the reason if the score is below the limit."""

    support: Support
    reason: str


class Guard:
    """Blocks answers that their passages do not support, with a fitted limit and a promise.

    The promise: with 95 % confidence over the draw of the fitted answers, at most the share
    ``verdict.promise`` of good answers is blocked, one answer to each of new questions like the fitted ones.
    It does not cover answers that are blocked because of an error. A monitor withdraws the promise when
    traffic no longer looks like the fitted answers; it belongs to this object and begins anew with it.

    Threads and event loops may share a guard.

    Args:
        file: a guard file from ``sgi guard fit``, its path, or its content.
        on_error: whether an answer that cannot be scored is blocked ("block", the default: fail closed) or
            allowed ("allow"): its passages are missing or in another language, the time is over, or the
            analysis fails. `counts` has their number.
        timeout: seconds for an answer in `check`, and for each sentence in `stream`; None for no limit. The
            analysis then goes on in its thread; an answer is an error while 64 such threads run.

    Raises:
        UsageError: the file is damaged or does not fit this version, or an option has a wrong value.
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | GuardFile | Mapping[str, Any],
        *,
        on_error: OnError = "block",
        timeout: float | None = None,
    ) -> None:
        if on_error not in get_args(OnError):
            raise UsageError(f"`on_error` must be allow or block, not {short(on_error)}.")
        if timeout is not None and not _is_time(timeout):
            raise UsageError(f"`timeout` must be a number of seconds above 0, not {short(timeout)}.")
        self.file = GuardFile.open(file)
        self.on_error = on_error
        self.timeout = timeout
        self._counts = GuardCounts()
        self._monitor = TrafficMonitor(self.file.traffic)
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(_MOST_RUNNING, "sgi-guard")  # starts threads when it is used
        self._free = BoundedSemaphore(_MOST_RUNNING)

    @property
    def counts(self) -> GuardCounts:
        """How many answers were checked, blocked, had an error, or came after the promise was withdrawn."""
        with self._lock:
            return replace(self._counts)

    @property
    def withdrawn(self) -> str:
        """Why the promise is withdrawn; "" while it holds."""
        limit = self._monitor.difference
        if limit is None:
            return ""
        return (
            f"after {self._monitor.answers:,} answers, traffic differs from the fitted answers: more than "
            f"{100 * limit.share:.0f} % have {_HAVE[limit.value]} {limit.side} {limit.limit:.3g}; "
            "fit the guard again"
        )

    def check(
        self, question: str, contexts: Sequence[str], response: str, *, observe: bool = True
    ) -> GuardVerdict:
        """Decide on a whole answer.

        Args:
            question: the question; "" if there is none.
            contexts: the passages; one text is one passage.
            response: the answer.
            observe: whether the answer is traffic, which can withdraw the promise. It is counted either way.

        Returns:
            The verdict; an answer that cannot be scored is no exception, but an ``error`` of the verdict.
        """
        work = partial(self._read, question, contexts, response)
        try:
            answer, reason = work() if self.timeout is None else self._in_time(work, self.timeout)
        except Exception as error:  # noqa: BLE001 - the caller chose what happens on any error
            return self._settle(None, _problem(error), observe=observe)
        return self._settle(answer, "", reason, observe=observe)

    async def acheck(
        self, question: str, contexts: Sequence[str], response: str, *, observe: bool = True
    ) -> GuardVerdict:
        """Decide on a whole answer, like `check`, in a thread."""
        found, problem = await self._run(partial(self._read, question, contexts, response))
        answer, reason = found or (None, "")
        return self._settle(answer, problem, reason, observe=observe)

    async def stream(
        self, question: str, contexts: Sequence[str], chunks: AsyncIterable[str]
    ) -> AsyncGenerator[GuardVerdict]:
        """Decide on each sentence of an answer as soon as the first word after it has arrived.

        The last verdict is that of the whole answer, and equals that of `check`: it is blocked if a sentence
        is. After a blocked sentence, no more chunks are read, and their source is closed.

        Args:
            question: the question; "" if there is none.
            contexts: the passages; they are analysed once.
            chunks: the answer in pieces of any size. None is an empty piece; another piece that is
                not a text is an error of the answer.
        """
        answer, problem = await self._run(partial(StreamedAnswer, question, contexts))
        pieces = _Pieces(chunks, go_on=self.on_error == "allow")
        number = 0
        async with aclosing(pieces.sentences(answer or SentenceReader())) as sentences:
            async for sentence in sentences:
                number += 1
                scored = _Scored(Support(math.nan, problem=problem), "")
                if answer is not None:
                    scored = await self._score_sentence(answer, sentence, number)
                verdict = self._verdict(score_of(scored.support.log_odds), *scored)
                if verdict.blocked:
                    whole = self._settle(answer, problem, verdict.reason, is_cut=True)
                    verdict = replace(verdict, promise=whole.promise, withdrawn=whole.withdrawn)
                    yield replace(verdict, sentence=number, text=sentence)
                    yield whole
                    return
                yield replace(verdict, sentence=number, text=sentence)
        reason = ""
        if answer is not None:
            answer.problem = answer.problem or pieces.problem
            found, failure = await self._run(partial(self._score, answer.whole))
            whole_text, reason = found or _Scored(Support(math.nan, problem=failure), "")
            answer.end(whole_text)
        yield self._settle(answer, problem, reason)

    async def _score_sentence(self, answer: StreamedAnswer, sentence: str, number: int) -> _Scored:
        """Score a sentence, and add it to the answer."""
        work = partial(self._score, partial(answer.support, sentence), number)
        found, failure = await self._run(work, is_quick=answer.is_quick(sentence))
        scored = found or _Scored(Support(math.nan, problem=failure), "")
        answer.add(sentence, scored.support)
        return scored

    def _score(self, work: Callable[[], Support], number: int | None = None) -> _Scored:
        support = work()
        return _Scored(support, self._why(score_of(support.log_odds), support, number))

    def _read(self, question: str, contexts: Sequence[str], response: str) -> tuple[StreamedAnswer, str]:
        """Return an answer with its score, and the reason if the score is below the limit."""
        answer = read_answer(question, contexts, response)
        whole = answer.ended or Support(math.nan)
        return answer, self._why(score_of(answer.lowest), whole)

    def _why(self, score: float | None, support: Support, number: int | None = None) -> str:
        """Return why a text is blocked, which takes as long as its score; "" if it has no low score."""
        return _why(support, number) if self._is_low(score) else ""

    def _is_low(self, score: float | None) -> bool:
        return score is not None and score < self.file.limit

    def _in_time(self, work: Callable[[], T], timeout: float) -> T:
        """Return the result of work in a thread. Raises TimeoutError, which leaves the thread running."""
        end = time.monotonic() + timeout
        if not self._free.acquire(timeout=timeout):
            raise _BusyError
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: self._free.release())
        try:
            return future.result(max(0.0, end - time.monotonic()))
        except TimeoutError:
            future.cancel()
            raise

    async def _run(self, work: Callable[[], T], *, is_quick: bool = False) -> tuple[T | None, str]:
        """Return the result of work, or None and why there is none; in a thread, unless it is quick."""
        try:
            if is_quick and self.timeout is None:
                return work(), ""
            with anyio.fail_after(self.timeout):
                return await anyio.to_thread.run_sync(self._if_free, work, abandon_on_cancel=True), ""
        except Exception as error:  # noqa: BLE001 - the caller chose what happens on any error
            return None, _problem(error)

    def _if_free(self, work: Callable[[], T]) -> T:
        """Return the result of work; in its thread, so that an abandoned thread counts until it ends."""
        if not self._free.acquire(blocking=False):
            raise _BusyError
        try:
            return work()
        finally:
            self._free.release()

    def _verdict(self, score: float | None, support: Support, why: str) -> GuardVerdict:
        """Return the verdict on a sentence or an answer; a low score counts more than a problem elsewhere."""
        withdrawn = self.withdrawn
        is_low = self._is_low(score)
        if support.problem and not is_low:
            blocked, reason = self.on_error == "block", f"no score: {support.problem}"
            return GuardVerdict(blocked, None, reason, None, withdrawn, support.problem)
        reason = NO_CLAIMS if score is None else why
        return GuardVerdict(is_low, score, reason, None if withdrawn else self.file.promise, withdrawn)

    def _settle(
        self,
        answer: StreamedAnswer | None,
        problem: str,
        reason: str = "",
        *,
        is_cut: bool = False,
        observe: bool = True,
    ) -> GuardVerdict:
        """Return the verdict on an answer, and count it; ``is_cut`` if it ended with a blocked sentence."""
        score, whole = None, Support(math.nan, problem=problem)
        if answer is not None:
            score, whole = score_of(answer.lowest), answer.ended or whole
            whole = whole._replace(
                problem=answer.problem or (self._observe(answer, is_cut) if observe else "")
            )
        verdict = self._verdict(score, whole, reason)
        if is_cut:
            verdict = replace(verdict, reason=reason)
        with self._lock:
            self._counts.checked += 1
            self._counts.blocked += verdict.blocked
            self._counts.errors += bool(verdict.error)
            self._counts.withdrawn += bool(verdict.withdrawn)
        return verdict

    def _observe(self, answer: StreamedAnswer, is_cut: bool) -> str:
        """Show the monitor an answer; return the problem, which is "" if there is none."""
        # The length of an answer that was cut off is not known; None is no evidence.
        words = None if is_cut else answer.words
        values = {SCORE: score_of(answer.lowest), ANSWER_WORDS: words, PASSAGE_WORDS: answer.passage_words}
        try:
            with self._lock:
                self._monitor.observe(values)
        except Exception as error:  # noqa: BLE001 - the caller chose what happens on any error
            return _problem(error)
        return ""


class _Pieces:
    """The pieces of an answer.

    Attributes:
        problem: why a piece cannot be read; "" if all can. The pieces after it are only read to ``go_on``.
    """

    def __init__(self, chunks: AsyncIterable[object], *, go_on: bool) -> None:
        self._chunks, self._go_on = chunks, go_on
        self.problem = ""

    async def sentences(self, reader: SentenceReader | StreamedAnswer) -> AsyncGenerator[str]:
        """Yield the sentences, and close the source at the end."""
        try:
            async for chunk in self._chunks:
                if chunk is None:  # services send a last piece without text
                    continue
                if not isinstance(chunk, str):
                    self.problem = f"a piece of the answer is not a text but {type(chunk).__name__}"
                    if not self._go_on:
                        return
                    continue
                for sentence in reader.feed(chunk):
                    yield sentence
            for sentence in reader.feed(last=True):
                yield sentence
        finally:
            close = getattr(self._chunks, "aclose", None) or getattr(self._chunks, "close", None)
            closing = close() if close is not None else None
            if isawaitable(closing):
                await closing


def _is_time(timeout: object) -> bool:
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    return is_number and 0 < timeout <= TIMEOUT_MAX  # type: ignore[operator]


def _problem(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the time is over"
    if isinstance(error, _BusyError):
        return _BUSY
    if isinstance(error, ValidationError):  # its message quotes the value
        fault = error.errors(include_url=False)[0]
        return f"{fault['loc'][0]}: expected a text, found {type(fault['input']).__name__}"
    return quote(f"{type(error).__name__}: {error}", _MAX_QUOTED)


def _why(support: Support, number: int | None) -> str:
    """Say which sentence has the lowest score, and what the passages do not support."""
    try:
        sentences = support.evidence.get("sentences", ())
    except Exception:  # noqa: BLE001 - the verdict needs no reason
        sentences = ()
    scored = [(each["score"], at) for at, each in enumerate(sentences) if each["score"] is not None]
    if not scored:
        return "the passages do not support the answer"
    at = min(scored)[1]
    sentence = sentences[at]
    start = f"sentence {at + 1 if number is None else number} is not supported: "
    return f'{start}"{quote(sentence["text"], _MAX_QUOTED)}" ({_unsupported(sentence)})'


def _unsupported(sentence: Mapping[str, Any]) -> str:
    for check in sentence["checks"]:
        if check["verdict"] == "contradicted":
            found = quote(check["found"], _MAX_QUOTED)
            return f'passage {check["passage"] + 1} says "{found}"'
    for check in sentence["checks"]:
        if check["verdict"] == "absent":
            return f"{check['kind']} {quote(check['fact'], _MAX_QUOTED)} is in no passage"
    for start, end in sentence["unbacked"]:
        text = sentence["text"][start - sentence["start"] : end - sentence["start"]]
        return f'"{quote(text, _MAX_QUOTED)}" is in no passage'
    return "the passages have few of its words"
