"""Opens the models, the judge and the target of a run; nothing else opens them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from pydantic import BaseModel

from sgi.engine.model_wrappers import EmbedderWrapper, ValidatingJudge
from sgi.engine.opened_models import shared_embedder, shared_entailment_model, shared_token_encoder
from sgi.engine.plan import missing_judge
from sgi.engine.resources import Resources, entailment_models, token_models
from sgi.engine.spec import DEFAULT_EMBEDDER
from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.protocols import Embedder, Judge, embedder_name, not_an_embedder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from sgi.engine.calibration_file import CalibrationFile
    from sgi.engine.opened_models import ModelOptions
    from sgi.engine.spec import RunSpec
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Cache, EntailmentModel, TokenEncoder
    from sgi.kernel.tokens import TokenModel
    from sgi.llm.judge_spec import JudgeSpec
    from sgi.models.embedder.long_texts import LongTexts
    from sgi.target.target_spec import TargetSpec

    JudgeLike = str | Mapping[str, Any] | JudgeSpec | Judge
else:
    JudgeLike = Any

EmbedderLike = str | Path | Embedder


@dataclass(frozen=True)
class Cassette:
    """A file of judge calls: if ``replaying``, its replies replace the judge, else calls are recorded."""

    path: Path
    replaying: bool


@dataclass(frozen=True)
class ResourceOptions:
    """Which models, judge and target to open, and how.

    Attributes:
        embedders: names, folders or embedders, the primary one first; None for the default model.
        judge: a name such as ``"openai:NAME"``, its settings, or a judge of the caller.
        target: the RAG system that generates the responses; None if the data has them.
        calibration: the calibration that is checked against the models and the judge once they are open.
        long_texts: how models given by name read texts that exceed their limit: ``windows`` or ``truncate``.
        threads: number of batches computed in parallel; None for all cores of this process.
        open_embedders: whether embedders are opened; otherwise each batch brings its own.
        cache: where vectors are stored: a file, the user's cache (True), or nowhere (False).
        cache_replies: whether judge replies are cached beside the vectors; they quote texts.
        retry_failed: request cached judge replies again if they were unusable.
        cassette: a file of judge calls to record or to replay.
        code_folder: the only folder whose code may run as a Python target; None allows any.
        stored_judgements: whether all judgements are stored already, so that no judge is needed.
    """

    embedders: EmbedderLike | Sequence[EmbedderLike] | None = None
    judge: JudgeLike | None = None
    target: TargetSpec | None = None
    calibration: CalibrationFile | None = None
    long_texts: LongTexts = "windows"
    threads: int | None = None
    cache: bool | str | Path = True
    cache_replies: bool = True
    retry_failed: bool = False
    cassette: Cassette | None = None
    code_folder: Path | None = None
    stored_judgements: bool = False
    open_embedders: bool = True

    @classmethod
    def of(cls, spec: RunSpec) -> Self:
        """Return the options for the resources of a run, taken from its spec."""
        return cls(
            embedders=spec.embedders,
            judge=spec.judge,
            target=spec.target,
            calibration=spec.calibration,
            long_texts=spec.long_texts,
            cache_replies=not spec.no_texts,
        )


@asynccontextmanager
async def open_resources(metrics: Sequence[AnyMetric], options: ResourceOptions) -> AsyncIterator[Resources]:
    """Context manager that opens the models, the judge and the target for these metrics, and closes them.

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
            with_embedders=options.open_embedders,
            long_texts=options.long_texts,
            threads=options.threads,
        )
        resources = stack.enter_context(models)
        judge = open_judge(
            () if options.stored_judgements else metrics,
            options.judge,
            cache=options.cache if options.cache_replies else False,
            retry_failed=options.retry_failed,
            cassette=options.cassette,
        )
        resources = replace(resources, judge=await stack.enter_async_context(judge))
        if options.calibration is not None:
            options.calibration.check(resources.provenance(options.calibration.inner()))
        if options.target is not None:
            from sgi.target.open_target import open_target

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
    """Context manager that opens and closes the judge; it yields None if no metric needs a judge.

    The arguments are those of `ResourceOptions`; replies are cached in a file beside ``cache``.

    Raises:
        UsageError: a metric needs a judge and none is given.
        MissingExtraError: the extra ``judge`` is not installed.
    """
    asking = judged_metrics(metrics)
    if not asking:
        yield None
        return
    if judge is None:
        raise missing_judge(asking)
    async with open_given_judge(judge, cache=cache, retry_failed=retry_failed, cassette=cassette) as opened:
        yield opened


@asynccontextmanager
async def open_given_judge(
    judge: JudgeLike,
    *,
    cache: bool | str | Path = True,
    retry_failed: bool = False,
    cassette: Cassette | None = None,
) -> AsyncIterator[Judge]:
    """Context manager that opens and closes a judge; see `open_judge`."""
    if isinstance(judge, Judge):
        yield ValidatingJudge(judge)
        return
    value: object = judge
    if not isinstance(value, (str, Mapping, BaseModel)):
        hint = "A judge has a `fingerprint`, a `budget` and `ask`; check it with sgi.testing.check_judge."
        raise UsageError(f"{type(value).__name__} is not a judge.", hint=hint)
    from sgi.llm.judge_spec import JudgeSpec
    from sgi.llm.open_judge import open_judge as open_service

    files = {"replay" if cassette.replaying else "record": cassette.path} if cassette is not None else {}
    from sgi.store.cache import open_reply_cache

    with open_reply_cache(cache) as replies:
        spec = judge if isinstance(judge, JudgeSpec) else JudgeSpec.of(judge)
        if spec.batch and cache is False:
            hint = "Remove --no-cache and --no-texts, or ask without a batch."
            raise UsageError(
                "A batch is remembered in the file of cached replies, and there is none.", hint=hint
            )
        async with open_service(spec, replies, again=retry_failed, **files) as service:
            yield service


@contextmanager
def open_models(
    metrics: Sequence[AnyMetric],
    embedders: EmbedderLike | Sequence[EmbedderLike] | None = None,
    *,
    cache: bool | str | Path = True,
    with_embedders: bool = True,
    **options: Unpack[ModelOptions],
) -> Iterator[Resources]:
    """Context manager that opens the models for these metrics, and closes them; see `ResourceOptions`.

    Token vectors and entailment probabilities are not cached.

    Raises:
        UsageError: two embedders have the same name, or a model does not have what a metric needs.
        UnknownNameError: a model does not exist.
        EmbedderError: the files of a model are missing or cannot be read.
        MissingExtraError: an optional dependency is not installed.
        StoreError: the cache cannot be opened.
    """
    encoders: dict[TokenModel, TokenEncoder] = {}
    if models := token_models(metrics):
        encoders = {model: shared_token_encoder(model, **options) for model in models}
    entailment: dict[str, EntailmentModel] = {}
    if names := entailment_models(metrics):
        threads = options.get("threads")
        entailment = {name: shared_entailment_model(name, threads=threads) for name in names}
    if not (with_embedders and any(metric.vector_needs for metric in metrics)):
        yield Resources(token_encoders=encoders, entailment_models=entailment)
        return
    from sgi.store.cache import open_cache

    likes = as_list(embedders)
    objects = tuple(embedder_name(like) for like in likes if isinstance(like, Embedder))
    only_objects = len(objects) == len(likes) and not extra_embedders(metrics, objects)
    with open_cache(False if only_objects else cache) as vectors:
        opened = open_embedders(likes, vectors, **options)
        for name in extra_embedders(metrics, tuple(opened)):
            opened[name] = open_embedder(name, vectors, **options)
        yield Resources(opened, token_encoders=encoders, entailment_models=entailment)


def open_embedders(
    embedders: Iterable[EmbedderLike], cache: Cache, **options: Unpack[ModelOptions]
) -> dict[str, Embedder]:
    """Open embedders with this cache, by name; raises UsageError if two have the same name."""
    opened: dict[str, Embedder] = {}
    for like in embedders:
        embedder = open_embedder(like, cache, **options)
        name = embedder_name(embedder)
        if name in opened:
            raise UsageError(f"Two embedders are called {name!r}.")
        opened[name] = embedder
    return opened


def open_embedder(like: EmbedderLike, cache: Cache | None, **options: Unpack[ModelOptions]) -> Embedder:
    """Open an embedder with this cache; an embedder of the caller has a cache in memory instead."""
    from sgi.models.cached_embedder import CachedEmbedder
    from sgi.store.cache import BoundedCache, MemoryCache

    if isinstance(like, (str, Path)):
        opened = shared_embedder(like, **options)
        return opened if cache is None else CachedEmbedder(opened, cache)
    embedder: object = like
    if not isinstance(embedder, Embedder):
        raise not_an_embedder(embedder)
    if isinstance(embedder, CachedEmbedder):
        return embedder
    own = cache if isinstance(cache, BoundedCache) else MemoryCache()
    return CachedEmbedder(EmbedderWrapper(embedder), own)


def load_embedder(
    name: str | Path = DEFAULT_EMBEDDER,
    *,
    long_texts: LongTexts = "windows",
    cache: str | Path | None = None,
) -> Embedder:
    """Load an embedder; its ``embed(texts)`` returns one unit vector (float32) for each text, in order.

    Args:
        name: ``"minilm"`` (embedded), another known model, a folder, ``"torch:NAME"``, ``"openai:MODEL"``,
            ``"openai:MODEL@URL"`` or ``"azure:DEPLOYMENT"``.
        long_texts: ``"windows"`` reads texts that exceed the model's limit in overlapping windows,
            ``"truncate"`` reads their beginning. Remote models ignore it.
        cache: a file that stores the vectors; None for no file.

    Raises:
        UnknownNameError: the model or the value of ``long_texts`` does not exist.
        ModelMissingError: the model's files do not exist.

    >>> load_embedder("minilm").embed(["Hello."]).shape
    (1, 384)
    """
    from sgi.store.cache import SqliteCache

    sqlite_cache = None if cache is None else SqliteCache(Path(cache))
    return open_embedder(name, sqlite_cache, long_texts=long_texts)


def as_list(embedders: EmbedderLike | Sequence[EmbedderLike] | None) -> list[EmbedderLike]:
    """Return one or several embedders as a list; the default model for none."""
    if embedders is None:
        return [DEFAULT_EMBEDDER]
    if isinstance(embedders, Sequence) and not isinstance(embedders, str):
        return list(embedders) or [DEFAULT_EMBEDDER]
    return [embedders]


def extra_embedders(metrics: Sequence[AnyMetric], configured: tuple[str, ...]) -> list[str]:
    """Return the embedders that metrics name in their parameters and that are not configured."""
    names = dict.fromkeys(
        name for metric in metrics if metric.vector_needs for name in metric.embedder_names(configured)
    )
    return [name for name in names if name not in configured]
