"""A guard: blocks answers that their passages do not support, with a promise on good answers."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import anyio
from pydantic import ValidationError

from sgi.kernel.errors import UsageError
from sgi.kernel.guard_verdict import GuardVerdict
from sgi.kernel.short_text import quote
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
_MAX_SHORT = 30_000
"""With so many characters of passages, a sentence takes a few milliseconds: less than the change to a thread
costs the event loop, which waits for Python's interpreter lock there."""
_NAMES = {
    SCORE: "a score",
    ANSWER_WORDS: "a length in words",
    PASSAGE_WORDS: "passages with a number of words",
}


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
        timeout: seconds for an answer in `check`, and for each sentence in `stream`; None for no limit.

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
            raise UsageError(f"`on_error` must be allow or block, not {on_error!r}.")
        given: object = timeout
        if given is not None and not (isinstance(given, (int, float)) and given > 0):
            raise UsageError(f"`timeout` must be above 0 seconds, not {timeout!r}.")
        self.file = GuardFile.open(file)
        self.on_error = on_error
        self.timeout = timeout
        self._counts = GuardCounts()
        self._monitor = TrafficMonitor(self.file.traffic)
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(thread_name_prefix="sgi-guard")  # starts threads when it is used

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
            f"{100 * limit.share:.0f} % have {_NAMES[limit.value]} {limit.side} {limit.limit:.3g}; fit "
            "the guard again"
        )

    def check(self, question: str, contexts: Sequence[str], response: str) -> GuardVerdict:
        """Decide on a whole answer.

        Args:
            question: the question; "" if there is none.
            contexts: the passages; one text is one passage.
            response: the answer.

        Returns:
            The verdict; an answer that cannot be scored is no exception, but an ``error`` of the verdict.
        """
        work = partial(read_answer, question, contexts, response)
        try:
            answer = work() if self.timeout is None else self._in_pool(work)
        except Exception as error:  # noqa: BLE001 - the caller chose what happens on any error
            return self._settle(None, _problem(error))
        return self._settle(answer, "")

    def _in_pool(self, work: Callable[[], T]) -> T:
        future = self._pool.submit(work)
        try:
            return future.result(self.timeout)
        finally:
            future.cancel()  # nobody waits for it any more

    async def acheck(self, question: str, contexts: Sequence[str], response: str) -> GuardVerdict:
        """Decide on a whole answer, like `check`, in a thread."""
        answer, problem = await self._run(partial(read_answer, question, contexts, response))
        return self._settle(answer, problem)

    async def stream(
        self, question: str, contexts: Sequence[str], chunks: AsyncIterable[str | None]
    ) -> AsyncGenerator[GuardVerdict]:
        """Decide on each sentence of an answer as soon as the first word after it has arrived.

        The last verdict is that of the whole answer, and equals that of `check`: it is blocked if a sentence
        is. After a blocked sentence, no more chunks are read.

        Args:
            question: the question; "" if there is none.
            contexts: the passages; they are analysed once.
            chunks: the answer in pieces of any size; None is an empty piece.
        """
        answer, problem = await self._run(partial(StreamedAnswer, question, contexts))
        is_short = answer is not None and answer.passage_characters <= _MAX_SHORT
        number = 0
        async with aclosing(_sentences(answer or SentenceReader(), chunks)) as sentences:
            async for sentence in sentences:
                number += 1
                support = Support(math.nan, problem=problem)
                if answer is not None:
                    work = partial(answer.support, sentence)
                    found, failure = await self._run(work, is_short=is_short)
                    support = found or Support(math.nan, problem=failure)
                    answer.add(sentence, support)
                verdict = self._verdict(score_of(support.log_odds), support, number)
                if verdict.blocked:
                    whole = self._settle(answer, problem, verdict.reason)
                    verdict = replace(verdict, promise=whole.promise, withdrawn=whole.withdrawn)
                    yield replace(verdict, sentence=number, text=sentence)
                    yield whole
                    return
                yield replace(verdict, sentence=number, text=sentence)
        if answer is not None:
            found, failure = await self._run(answer.whole)
            answer.end(found or Support(math.nan, problem=failure))
        yield self._settle(answer, problem)

    async def _run(self, work: Callable[[], T], *, is_short: bool = False) -> tuple[T | None, str]:
        """Return the result of work, or None and why there is none; in a thread, unless it is short."""
        try:
            if is_short and self.timeout is None:
                return work(), ""
            with anyio.fail_after(self.timeout):
                return await asyncio.wrap_future(self._pool.submit(work)), ""
        except Exception as error:  # noqa: BLE001 - the caller chose what happens on any error
            return None, _problem(error)

    def _verdict(self, score: float | None, support: Support, number: int | None = None) -> GuardVerdict:
        """Return the verdict on a sentence or an answer; a low score counts more than a problem elsewhere."""
        withdrawn = self.withdrawn
        is_low = score is not None and score < self.file.limit
        if support.problem and not is_low:
            blocked, reason = self.on_error == "block", f"no score: {support.problem}"
            return GuardVerdict(blocked, None, reason, None, withdrawn, support.problem)
        reason = NO_CLAIMS if score is None else _why(support, number) if is_low else ""
        return GuardVerdict(is_low, score, reason, None if withdrawn else self.file.promise, withdrawn)

    def _settle(self, answer: StreamedAnswer | None, problem: str, reason: str = "") -> GuardVerdict:
        """Return the verdict on an answer, and count it; with a ``reason``, a sentence was blocked."""
        score, whole = None, Support(math.nan, problem=problem)
        if answer is not None:
            score, whole = score_of(answer.lowest), answer.ended or whole
            whole = whole._replace(problem=answer.problem)
            if not answer.problem:
                # The length of an answer that was cut off is not known; None is no evidence.
                words = None if reason else answer.words
                values = {SCORE: score, ANSWER_WORDS: words, PASSAGE_WORDS: answer.passage_words}
                with self._lock:
                    self._monitor.observe(values)
        verdict = self._verdict(score, whole)
        if reason:
            verdict = replace(verdict, reason=reason)
        with self._lock:
            self._counts.checked += 1
            self._counts.blocked += verdict.blocked
            self._counts.errors += bool(verdict.error)
            self._counts.withdrawn += bool(verdict.withdrawn)
        return verdict


async def _sentences(
    reader: SentenceReader | StreamedAnswer, chunks: AsyncIterable[str | None]
) -> AsyncGenerator[str]:
    """Yield the sentences of an answer; if it is not read to its end, its source is closed."""
    try:
        async for chunk in chunks:
            for sentence in reader.feed(chunk or ""):
                yield sentence
        for sentence in reader.feed(last=True):
            yield sentence
    finally:
        if (close := getattr(chunks, "aclose", None)) is not None:
            await close()


def _problem(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the time is over"
    if isinstance(error, ValidationError):  # its text quotes the caller's object
        return type(error).__name__
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
