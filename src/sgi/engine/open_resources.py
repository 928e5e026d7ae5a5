"""Opens the models, the judge and the target of a run: the only place that does."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from sgi.engine.plan import missing_judge
from sgi.engine.resources import open_models
from sgi.kernel.errors import JudgeMalformedError, UsageError
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.prompts import ReplyModel
from sgi.kernel.protocols import Judge, usage_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from sgi.engine.calibration_file import CalibrationFile
    from sgi.engine.resources import EmbedderLike, Resources
    from sgi.engine.spec import RunSpec
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Cache, Usage
    from sgi.llm.spec import JudgeSpec
    from sgi.target.spec import TargetSpec

    JudgeLike = str | Mapping[str, Any] | JudgeSpec | Judge
else:
    JudgeLike = Any

T = TypeVar("T", bound=ReplyModel)


@dataclass(frozen=True)
class Cassette:
    """A file of judge calls; ``replaying`` replaces the judge, otherwise calls are recorded."""

    path: Path
    replaying: bool


@dataclass(frozen=True)
class ResourceOptions:
    """Which models, judge and target to open, and how.

    Attributes:
        embedders: names, folders or embedders, the primary one first; None for the default model.
        judge: a name such as ``"openai:NAME"``, its settings, or a judge of the caller.
        target: the RAG system that generates the responses; None where the data has them.
        calibration: checked against the models and the judge once they are open.
        backend: runtime of named models.
        precision: arithmetic of named models.
        threads: batches computed in parallel; None for all cores of this process.
        cache: stores vectors: a file, the user's cache (True), or none (False).
        cache_replies: whether judge replies are cached beside the vectors; they quote texts.
        retry_failed: request cached judge replies again if they were unusable.
        cassette: a file of judge calls to record or to replay.
        code_folder: the only folder whose code may run as a Python target; None allows any.
    """

    embedders: EmbedderLike | Sequence[EmbedderLike] | None = None
    judge: JudgeLike | None = None
    target: TargetSpec | None = None
    calibration: CalibrationFile | None = None
    backend: str = "auto"
    precision: str = "auto"
    threads: int | None = None
    cache: bool | str | Path = True
    cache_replies: bool = True
    retry_failed: bool = False
    cassette: Cassette | None = None
    code_folder: Path | None = None

    @classmethod
    def of(cls, spec: RunSpec) -> Self:
        """The options that a run spec determines."""
        return cls(
            embedders=spec.embedders,
            judge=spec.judge,
            target=spec.target,
            calibration=spec.calibration,
            backend=spec.backend,
            precision=spec.precision,
            cache_replies=not spec.no_texts,
        )


@asynccontextmanager
async def open_resources(metrics: Sequence[AnyMetric], options: ResourceOptions) -> AsyncIterator[Resources]:
    """Open the models, the judge and the target that these metrics need, until the context ends.

    Raises:
        UsageError: a metric needs a judge and none is given, or the calibration was fitted on other scores.
        UnknownNameError: a model does not exist.
        MissingExtraError: an optional dependency is not installed.
        StoreError: the cache cannot be opened.
    """
    async with AsyncExitStack() as stack:
        models = open_models(
            metrics,
            options.embedders,
            cache=options.cache,
            backend=options.backend,
            precision=options.precision,
            threads=options.threads,
        )
        resources = stack.enter_context(models)
        judge = open_judge(
            metrics,
            options.judge,
            cache=options.cache if options.cache_replies else False,
            retry_failed=options.retry_failed,
            cassette=options.cassette,
        )
        resources = replace(resources, judge=await stack.enter_async_context(judge))
        if options.calibration is not None:
            options.calibration.check(resources.provenance(options.calibration.inner()))
        if options.target is not None:
            from sgi.target.load import open_target

            opening = open_target(options.target, code_folder=options.code_folder)
            resources = replace(resources, target=await stack.enter_async_context(opening))
        yield resources


@asynccontextmanager
async def open_judge(
    metrics: Sequence[AnyMetric],
    judge: JudgeLike | None,
    *,
    cache: bool | str | Path = True,
    retry_failed: bool = False,
    cassette: Cassette | None = None,
) -> AsyncIterator[Judge | None]:
    """Open the judge until the context ends; None if none of these metrics needs one.

    The arguments are those of `ResourceOptions`; replies are cached in a file beside ``cache``.

    Raises:
        UsageError: a metric needs a judge and none is given.
        MissingExtraError: the extra ``judge`` is not installed.
    """
    asking = judged_metrics(metrics)
    if not asking:
        yield None
        return
    if isinstance(judge, Judge):
        yield _ValidatingJudge(judge)
        return
    if judge is None:
        raise missing_judge(asking)
    given: object = judge
    if not isinstance(given, (str, Mapping, BaseModel)):
        hint = "A judge has a `fingerprint`, a `budget` and `ask`; check it with sgi.testing.check_judge."
        raise UsageError(f"{type(given).__name__} is not a judge.", hint=hint)
    from sgi.llm.load import open_judge as open_service
    from sgi.llm.spec import JudgeSpec

    files = {"replay" if cassette.replaying else "record": cassette.path} if cassette is not None else {}
    with open_reply_cache(cache) as replies:
        spec = judge if isinstance(judge, JudgeSpec) else JudgeSpec.of(judge)
        async with open_service(spec, replies, again=retry_failed, **files) as service:
            yield service


class JudgeWrapper:
    """Base of a judge that wraps another judge; a subclass defines ``ask``."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.fingerprint = judge.fingerprint
        self.budget = judge.budget

    @property
    def usage(self) -> Usage:
        """Usage of the wrapped judge."""
        return usage_of(self._judge)


class _ValidatingJudge(JudgeWrapper):
    """Validates the replies of the caller's judge like those of any other judge."""

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        try:
            reply: object = await self._judge.ask(inquiry, schema)
        except ValidationError as errors:
            raise JudgeMalformedError(
                f"The judge's reply is not what was asked: {_first_problem(errors)}."
            ) from None
        if not isinstance(reply, schema):
            raise JudgeMalformedError(f"The judge gave a {type(reply).__name__}, not a {schema.__name__}.")
        text = reply.model_dump_json()
        try:
            return schema.model_validate_json(text, strict=True, context=inquiry.context)
        except ValidationError as errors:
            message = f"The judge's reply is not what was asked: {_first_problem(errors)}."
            raise JudgeMalformedError(message, text=text) from None


def _first_problem(errors: ValidationError) -> str:
    first = errors.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    problem = first["msg"].removeprefix("Value error, ")
    return f"{place}: {problem}" if place else problem


def replies_path(vectors: Path) -> Path:
    """The file of cached judge replies, beside the file of cached vectors.

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
