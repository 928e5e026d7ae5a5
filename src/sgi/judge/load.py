"""From a spec to a judge."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sgi.judge.cached import Cached
from sgi.judge.cassette import Recorded, Replayed
from sgi.judge.limits import Limiter
from sgi.judge.metered import Metered
from sgi.judge.prices import price_of
from sgi.judge.retrying import Retrying
from sgi.judge.service import open_chat
from sgi.judge.structured import ChatJudge
from sgi.judge.tally import Tally
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sgi.judge.calls import Chat
    from sgi.judge.spec import JudgeSpec
    from sgi.kernel.ports import Cache


@asynccontextmanager
async def open_judge(
    spec: JudgeSpec,
    cache: Cache,
    *,
    again: bool = False,
    record: Path | None = None,
    replay: Path | None = None,
) -> AsyncIterator[ChatJudge]:
    """The judge a spec names, as long as it is open; it is used in the event loop that opened it.

    Args:
        spec: which judge, and how it is asked.
        cache: keeps what was answered.
        again: ask anew where all that is kept of an inquiry is that its replies were unfit.
        record: a cassette that gets every reply, also those from the cache.
        replay: a cassette that answers instead of the model; nothing is sent, and the cache isn't used.

    Raises:
        MissingExtra: the extra ``judge`` is not installed.
        UsageError: a key or another setting is missing; ``max_cost`` without a known price.
        DataError: a cassette cannot be read.
    """
    tally = Tally()
    if replay is not None:
        if record is not None:
            raise UsageError("A cassette is replayed or recorded, not both at once.")
        yield ChatJudge(Replayed(replay, tally), budget=spec.budget, tally=tally)
        return
    async with open_chat(spec) as chat:
        wrapped: Chat = wrapped_chat(chat, spec, cache, tally)
        if record is None:
            yield ChatJudge(wrapped, budget=spec.budget, again=again, tally=tally)
            return
        with Recorded(wrapped, record) as recorded:
            yield ChatJudge(recorded, budget=spec.budget, again=again, tally=tally)


def wrapped_chat(chat: Chat, spec: JudgeSpec, cache: Cache, tally: Tally) -> Chat:
    """The model with all that stands around it.

    The cache stands outermost, so that what is known passes no limit and costs nothing. The meter stands
    within it and around the tries: it sees each paid call once. Every try passes the limits.

    Raises:
        UsageError: ``max_cost`` without a known price.
    """
    limiter = Limiter(concurrency=spec.concurrency, rpm=spec.rpm, tpm=spec.tpm)
    retrying = Retrying(chat, limiter, tally, retries=spec.retries, timeout=spec.timeout)
    metered = Metered(retrying, tally, price=price_of(spec), max_cost=spec.max_cost)
    return Cached(metered, cache, tally)
