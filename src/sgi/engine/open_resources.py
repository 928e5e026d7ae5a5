"""Options given in Python, and the models, the judge and the target of a run; nothing else opens them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from typing_extensions import TypedDict

from sgi.engine.calibration_file import CalibrationFile
from sgi.engine.cascade import Cascade, parse_cascade
from sgi.engine.model_wrappers import EmbedderWrapper, ValidatingJudge
from sgi.engine.opened_models import shared_embedder, shared_entailment_model, shared_token_encoder
from sgi.engine.plan import missing_judge
from sgi.engine.resources import Resources, entailment_models, token_models
from sgi.engine.run_options import DEFAULT_EMBEDDER, READ_FROM, EmbedderLike, RunOptions
from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.parsing import read_toml
from sgi.kernel.protocols import Embedder, Judge, embedder_name, not_an_embedder
from sgi.llm.judge_spec import JudgeSpec
from sgi.metrics.definitions import Definitions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from sgi.engine.progress import Listener
    from sgi.io.split_contexts import Separator
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Cache
    from sgi.models.embedder.long_texts import LongTexts
    from sgi.target.target_spec import TargetSpec

JudgeLike = str | Mapping[str, Any] | JudgeSpec | Judge
CascadeLike = str | Mapping[str, Any] | Cascade
CalibrationLike = str | Path | CalibrationFile


class ModelKeywords(TypedDict, total=False):
    """The fields of `RunOptions` about models and the judge, as keyword arguments."""

    judge: JudgeLike | None
    define: str | Path | Mapping[str, Any] | Definitions
    calibration: CalibrationLike | None
    retry_failed: bool
    long_texts: LongTexts
    cache: bool | str | Path
    threads: int | None


class OptionKeywords(ModelKeywords, total=False):
    """The fields of `RunOptions` as keyword arguments of `sgi.run` and `sgi.evaluate`, and their listener."""

    nli: str | None
    nli_band: str | None
    cascade: CascadeLike | None
    cluster: str | None
    target: str | Mapping[str, Any] | TargetSpec | None
    repeat: int
    repeat_judge: int
    name: str | None
    tags: Sequence[str]
    db: str | Path | None
    no_texts: bool
    columns: Mapping[str, str] | None
    per_turn: bool
    split_contexts: Separator | None
    encoding: str | None
    on_error: Literal["stop", "raise", "skip"]
    out: str | Path | None
    rejects: str | Path | None
    max_failures: float | str
    inputs: bool
    allow_empty: bool
    listener: Listener | None


def given_options(
    values: Mapping[str, Any],
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    *,
    source: str,
) -> RunOptions:
    """Build the options from arguments of a function; embedders and judges may be objects of the caller.

    An empty sequence of embedders opens none.

    >>> given_options({"threads": 2}, "minilm", source="the call").embedders
    ('minilm',)
    """
    call, stored = RunOptions.split(values)
    if embedder is not None:
        several = isinstance(embedder, Sequence) and not isinstance(embedder, str)
        likes: tuple[Any, ...] = tuple(cast("Sequence[EmbedderLike]", embedder)) if several else (embedder,)
        if likes and all(isinstance(like, str) for like in likes):
            stored["embedders"] = likes
        else:
            call["given_embedders"] = likes
    judge = stored.get("judge")
    if judge is not None and not isinstance(judge, (str, Mapping, JudgeSpec)):
        call["given_judge"] = checked_judge(stored.pop("judge"))
    return RunOptions.of(stored, source=source, **call)


def checked_judge(judge: object) -> Judge:
    """Return a judge of the caller; raises a UsageError if it is not one."""
    if isinstance(judge, Judge):
        return judge
    hint = "A judge has a `fingerprint`, a `budget` and `ask`; check it with sgi.testing.check_judge."
    raise UsageError(f"{type(judge).__name__} is not a judge.", hint=hint)


def model_options(
    values: Mapping[str, Any], embedders: Sequence[EmbedderLike] = (), **call: Any
) -> RunOptions:
    """Return options that open the models of a stored run, or other embedders in their place.

    >>> model_options({"embedders": ["minilm"], "metrics": ["sgi"]}).embedders
    ('minilm',)
    """
    names = tuple(values.get("embedders", ()))
    stored = {"long_texts": values.get("long_texts"), "embedders": names}
    return RunOptions.of(stored, **(call | ({"given_embedders": tuple(embedders)} if embedders else {})))


def read_options(path: Path) -> dict[str, Any]:
    """Read the values of a TOML file; paths in it are relative to its folder.

    Raises:
        UsageError: the file cannot be read, or is not TOML; the message names the line.
    """
    values = read_toml(path, error=UsageError)
    for name in READ_FROM:
        if isinstance(values.get(name), str):
            values[name] = path.parent / values[name]
    if isinstance(values.get("define"), dict):
        values["define"] = Definitions.of(values["define"], f"{path}: define", path.parent)
    if values.get("cascade") is not None:
        cascade = parse_cascade(values["cascade"])
        if cascade is not None and cascade.labelled is not None:
            values["cascade"] = cascade.model_copy(update={"labelled": path.parent / cascade.labelled})
    return values


@asynccontextmanager
async def open_resources(metrics: Sequence[AnyMetric], options: RunOptions) -> AsyncIterator[Resources]:
    """Context manager that opens the models, the judge and the target for these metrics, and closes them.

    Raises:
        UsageError: a metric needs a judge and none is given, or the calibration was fitted on other scores.
        UnknownNameError: a model does not exist.
        MissingExtraError: an optional dependency is not installed.
        StoreError: the cache cannot be opened.
    """
    async with AsyncExitStack() as stack:
        resources = stack.enter_context(open_models(metrics, options))
        if asking := judged_metrics(metrics):
            if not options.has_judge:
                raise missing_judge(asking)
            resources = replace(resources, judge=await stack.enter_async_context(open_judge(options)))
        if options.calibration is not None:
            options.calibration.check(resources.provenance(options.calibration.inner()))
        if options.target is not None:
            from sgi.target.open_target import open_target

            opening = open_target(options.target, code_folder=options.code_folder)
            resources = replace(resources, target=await stack.enter_async_context(opening))
        yield resources


@asynccontextmanager
async def open_judge(options: RunOptions) -> AsyncIterator[Judge]:
    """Context manager that opens and closes the judge; its replies are cached in a file beside the vectors.

    A run without texts caches no replies, since they quote texts.

    Raises:
        MissingExtraError: the extra ``judge`` is not installed.
    """
    if options.given_judge is not None:
        yield ValidatingJudge(options.given_judge)
        return
    if options.judge is None:
        raise UsageError("A judge is needed, and none is named.", hint="Name one, as in openai:gpt-4o-mini.")
    from sgi.llm.open_judge import open_judge as open_service
    from sgi.store.cache import open_reply_cache

    cassette, cache = options.cassette, False if options.no_texts else options.cache
    files = {"replay" if cassette.replaying else "record": cassette.path} if cassette is not None else {}
    with open_reply_cache(cache) as replies:
        if options.judge.batch and cache is False:
            hint = "Remove --no-cache and --no-texts, or ask without a batch."
            raise UsageError(
                "Batches of requests need the file of cached replies, which is disabled.", hint=hint
            )
        async with open_service(options.judge, replies, again=options.retry_failed, **files) as service:
            yield service


@contextmanager
def open_models(metrics: Sequence[AnyMetric], options: RunOptions) -> Iterator[Resources]:
    """Context manager that opens the models for these metrics, and closes them.

    Token vectors and entailment probabilities are not cached.

    Raises:
        UsageError: two embedders have the same name, or a model does not have what a metric needs.
        UnknownNameError: a model does not exist.
        EmbedderError: the files of a model are missing or cannot be read.
        MissingExtraError: an optional dependency is not installed.
        StoreError: the cache cannot be opened.
    """
    encoders = {model: shared_token_encoder(model, options) for model in token_models(metrics)}
    entailment = {name: shared_entailment_model(name, options) for name in entailment_models(metrics)}
    likes = options.embedder_likes
    if not (likes and any(metric.vector_needs for metric in metrics)):
        yield Resources(token_encoders=encoders, entailment_models=entailment)
        return
    from sgi.store.cache import open_cache

    objects = tuple(embedder_name(like) for like in likes if isinstance(like, Embedder))
    only_objects = len(objects) == len(likes) and not extra_embedders(metrics, objects)
    with open_cache(False if only_objects else options.cache) as vectors:
        opened = open_embedders(likes, vectors, options)
        for name in extra_embedders(metrics, tuple(opened)):
            opened[name] = open_embedder(name, vectors, options)
        yield Resources(opened, token_encoders=encoders, entailment_models=entailment)


def open_embedders(
    embedders: Iterable[EmbedderLike], cache: Cache, options: RunOptions
) -> dict[str, Embedder]:
    """Open embedders with this cache, by name; raises UsageError if two have the same name."""
    opened: dict[str, Embedder] = {}
    for like in embedders:
        embedder = open_embedder(like, cache, options)
        name = embedder_name(embedder)
        if name in opened:
            raise UsageError(f"Two embedders are called {name!r}.")
        opened[name] = embedder
    return opened


def open_embedder(like: EmbedderLike, cache: Cache | None, options: RunOptions | None = None) -> Embedder:
    """Open an embedder with this cache; an embedder of the caller has a cache in memory instead."""
    from sgi.models.cached_embedder import CachedEmbedder
    from sgi.store.cache import BoundedCache, MemoryCache

    if isinstance(like, (str, Path)):
        opened = shared_embedder(like, options or RunOptions())
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
    """Load a model that computes vectors of texts.

    Args:
        name: ``"minilm"`` (bundled with SGI), another known model, a folder, ``"torch:NAME"``,
            ``"openai:MODEL"``, ``"openai:MODEL@URL"`` or ``"azure:DEPLOYMENT"``.
        long_texts: ``"windows"`` reads texts that exceed the model's limit in overlapping windows,
            ``"truncate"`` reads their beginning. Remote models ignore it.
        cache: a file that stores the vectors; None for no file.

    Returns:
        The embedder. Its ``embed(texts)`` returns a unit vector for each text, float32, shape (n, d).

    Raises:
        UnknownNameError: the model or the value of ``long_texts`` does not exist.
        ModelMissingError: the model's files do not exist.

    >>> load_embedder("minilm").embed(["Hello."]).shape
    (1, 384)
    """
    from sgi.store.cache import SqliteCache

    sqlite_cache = None if cache is None else SqliteCache(Path(cache))
    options = RunOptions().model_copy(update={"long_texts": long_texts})
    return open_embedder(name, sqlite_cache, options)


def extra_embedders(metrics: Sequence[AnyMetric], configured: tuple[str, ...]) -> list[str]:
    """Return the embedders that metrics name in their parameters and that are not configured."""
    names = dict.fromkeys(
        name for metric in metrics if metric.vector_needs for name in metric.embedder_names(configured)
    )
    return [name for name in names if name not in configured]
