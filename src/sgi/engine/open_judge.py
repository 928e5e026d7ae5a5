"""The judge of a run, opened for the metrics that ask one, with its replies kept between runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from sgi.engine.judge_batch import judged, no_judge
from sgi.kernel.errors import JudgeMalformedError, UsageError
from sgi.kernel.prompts import ReplyModel
from sgi.kernel.protocols import Judge, usage_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Cache, Usage
    from sgi.llm.spec import JudgeSpec

    JudgeLike = str | Mapping[str, Any] | JudgeSpec | Judge
else:
    JudgeLike = Any

T = TypeVar("T", bound=ReplyModel)


@dataclass(frozen=True)
class Cassette:
    """A file of a judge's calls.

    Attributes:
        path: where it is.
        replaying: whether it answers in place of the judge; else what the judge answers is written to it.
    """

    path: Path
    replaying: bool


@asynccontextmanager
async def with_judge(
    resources: Resources,
    metrics: Sequence[AnyMetric],
    judge: JudgeLike | None,
    *,
    cache: bool | str | Path = True,
    again: bool = False,
    cassette: Cassette | None = None,
) -> AsyncIterator[Resources]:
    """The resources with the judge, if any of these metrics asks one, as long as the context lasts.

    Args:
        resources: the others.
        metrics: what will be scored.
        judge: a name such as ``"openai:NAME"``, its settings, or a judge of the caller's own.
        cache: where vectors are kept; replies are kept in a file beside them, or nowhere beyond this context.
        again: whether replies that were kept and were of no use are asked for once more.
        cassette: a file of calls to write or to answer from.

    Raises:
        UsageError: a metric asks a judge and none is named.
        MissingExtraError: the extra ``judge`` is not installed.
    """
    asking = judged(metrics)
    if not asking:
        yield resources
        return
    if isinstance(judge, Judge):
        yield replace(resources, judge=_Checked(judge))
        return
    if judge is None:
        raise no_judge(asking)
    given: object = judge
    if not isinstance(given, (str, Mapping, BaseModel)):
        hint = "A judge has a `fingerprint`, a `budget` and `ask`; sgi.testing.check_judge proves it."
        raise UsageError(f"{type(given).__name__} is no judge.", hint=hint)
    from sgi.llm.load import open_judge
    from sgi.llm.spec import JudgeSpec

    files = {"replay" if cassette.replaying else "record": cassette.path} if cassette is not None else {}
    with open_reply_cache(cache) as kept:
        spec = judge if isinstance(judge, JudgeSpec) else JudgeSpec.of(judge)
        async with open_judge(spec, kept, again=again, **files) as opened:
            yield replace(resources, judge=opened)


class JudgeWrapper:
    """What a judge around a judge has of the one within; a subclass says what ``ask`` does with it."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.fingerprint = judge.fingerprint
        self.budget = judge.budget

    @property
    def usage(self) -> Usage:
        """What was asked of the one within."""
        return usage_of(self._judge)


class _Checked(JudgeWrapper):
    """A judge of the caller's own, whose replies are held to what was asked as those of any other."""

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        try:
            reply: object = await self._judge.ask(inquiry, schema)
        except ValidationError as errors:
            raise JudgeMalformedError(f"The judge's reply is not what was asked: {_told(errors)}.") from None
        if not isinstance(reply, schema):
            raise JudgeMalformedError(f"The judge gave a {type(reply).__name__}, not a {schema.__name__}.")
        text = reply.model_dump_json()
        try:
            return schema.model_validate_json(text, strict=True, context=inquiry.context)
        except ValidationError as errors:
            message = f"The judge's reply is not what was asked: {_told(errors)}."
            raise JudgeMalformedError(message, text=text) from None


def _told(errors: ValidationError) -> str:
    first = errors.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    problem = first["msg"].removeprefix("Value error, ")
    return f"{place}: {problem}" if place else problem


def replies_path(vectors: Path) -> Path:
    """Where a judge's replies are kept, for a place of vectors: beside them.

    >>> replies_path(Path("cache/vectors.db")).name, replies_path(Path("mine.db")).name
    ('replies.db', 'mine.replies.db')
    """
    name = "replies.db" if vectors.name == "vectors.db" else f"{vectors.stem}.replies{vectors.suffix}"
    return vectors.with_name(name)


@contextmanager
def open_reply_cache(place: bool | str | Path) -> Iterator[Cache]:
    """Open the cache of judge replies that belongs to this vector cache; in memory if False."""
    from sgi.store.cache import BoundedCache, SqliteCache, default_cache_path

    if place is False:
        yield BoundedCache()
    else:
        path = replies_path(default_cache_path() if place is True else Path(place))
        with SqliteCache(path, durable=True) as cache:
            yield cache
