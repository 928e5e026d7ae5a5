"""What a run works with: embedders, each behind a cache so that no text is embedded twice, and a target."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypedDict

import anyio.from_thread
import numpy as np

from sgi.kernel.errors import EmbedderError, UsageError
from sgi.kernel.judged_metric import JudgedMetric, prompts_digest
from sgi.kernel.protocols import Embedded, Embedder, embedder_name, encode
from sgi.kernel.provenance import MetricProvenance, RunProvenance
from sgi.kernel.signature import package_version, run_signature

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Cache, EntailmentModel, Judge, Target, TokenEncoder
    from sgi.kernel.tokens import TokenFrequencies, TokenModel

from sgi.engine.spec import DEFAULT_EMBEDDER

EmbedderLike = str | Path | Embedder


class _ModelOptions(TypedDict):
    """How models known by name are run."""

    backend: str
    precision: str
    threads: int | None


@dataclass(frozen=True)
class Resources:
    """The open models, judge and target of a run.

    Attributes:
        embedders: by name, the primary one first; metrics with one model use the primary.
        target: the RAG system that generates the responses; None if the data has them.
        judge: for judged metrics; None without any.
        frequencies: the number of references that contain each token, if a metric needs it.
        entailment_models: by the names that metrics give.
    """

    embedders: Mapping[str, Embedder] = field(default_factory=dict)
    target: Target | None = None
    judge: Judge | None = None
    token_encoders: Mapping[TokenModel, TokenEncoder] = field(default_factory=dict)
    frequencies: Mapping[TokenModel, TokenFrequencies] = field(default_factory=dict)
    entailment_models: Mapping[str, EntailmentModel] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The embedders' names, the primary one first."""
        return tuple(self.embedders)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Everything that can change a number: of embedders, token encoders and entailment models."""
        return self._fingerprints(self.token_encoders, self.entailment_models)

    def provenance(self, metric: AnyMetric) -> MetricProvenance:
        """What computes the scores of a metric here, beside the data and the metric itself."""
        names = metric.embedder_names(self.names) if metric.vector_needs else ()
        models = [self.embedders[name].fingerprint for name in names]
        if metric.token_needs:
            models.append(self.token_encoders[metric.token_needs.token_model].fingerprint)
        if metric.entailment_needs:
            models.append(self.entailment_models[metric.entailment_needs.entailment_model].fingerprint)
        own: dict[str, Any] = {
            "name": metric.spec.name,
            "parameters": json.loads(json.dumps(metric.parameters)),  # lists, as they are read back
            "version": metric.spec.version,
        }
        if self.judge is None or not isinstance(metric, JudgedMetric):
            return MetricProvenance(tuple(models), **own)
        prompts = prompts_digest([metric])
        return MetricProvenance(tuple(models), self.judge.fingerprint, self.judge.budget, prompts, **own)

    def run_provenance(self, metrics: Sequence[AnyMetric], dataset: str) -> RunProvenance:
        """What computes the scores of these metrics over the data with this hash."""
        made = {metric.canonical: self.provenance(metric) for metric in metrics}
        return RunProvenance(dataset, package_version(), made)

    def signature(self, metrics: Sequence[AnyMetric], *, n: int) -> str:
        """The line under every table: what makes the numbers of these metrics over ``n`` rows."""
        of_tokens = [model for model in self.token_encoders if model in token_models(metrics)]
        of_pairs = [name for name in self.entailment_models if name in entailment_models(metrics)]
        judge = self.judge_identity(metrics) or "-"
        return run_signature(self._fingerprints(of_tokens, of_pairs), n=n, judge=judge)

    def judge_identity(self, metrics: Sequence[AnyMetric]) -> str:
        """The judge's fingerprint and the digest of the prompts; empty where no metric asks a judge."""
        prompts = prompts_digest(metrics)
        return f"{self.judge.fingerprint}@{prompts}" if self.judge is not None and prompts else ""

    def _fingerprints(self, of_tokens: Iterable[TokenModel], of_pairs: Iterable[str]) -> tuple[str, ...]:
        embedders = (embedder.fingerprint for embedder in self.embedders.values())
        encoders = (self.token_encoders[model].fingerprint for model in of_tokens)
        return (*embedders, *encoders, *(self.entailment_models[name].fingerprint for name in of_pairs))


def require_resources(metrics: Sequence[AnyMetric], resources: Resources) -> None:
    """Raise a UsageError where a metric needs a token or entailment model that is not open."""
    elsewhere = "Score it with `sgi run` or sgi.evaluate."
    for metric in metrics:
        tokens, entailment = metric.token_needs, metric.entailment_needs
        name = f"The metric {metric.canonical!r}"
        if tokens and tokens.token_model not in resources.token_encoders:
            message = f"{name} needs token vectors of {tokens.token_model}, which is not open here."
            raise UsageError(message, hint=elsewhere)
        if tokens and tokens.weighs_tokens and tokens.token_model not in resources.frequencies:
            message = f"{name} weighs tokens by all references of the data; here rows come one by one."
            raise UsageError(message, hint=f"{elsewhere} Or leave out idf.")
        if entailment and entailment.entailment_model not in resources.entailment_models:
            model = entailment.entailment_model
            message = f"{name} needs an entailment model that is not open here: {model}."
            raise UsageError(message, hint=elsewhere)


def token_models(metrics: Iterable[AnyMetric]) -> list[TokenModel]:
    """The distinct token models that metrics need."""
    needs = (metric.token_needs for metric in metrics)
    return list(dict.fromkeys(need.token_model for need in needs if need))


def entailment_models(metrics: Iterable[AnyMetric]) -> list[str]:
    """The distinct entailment models that metrics need."""
    needs = (metric.entailment_needs for metric in metrics)
    return list(dict.fromkeys(need.entailment_model for need in needs if need))


@contextmanager
def open_models(
    metrics: Sequence[AnyMetric],
    embedders: EmbedderLike | Sequence[EmbedderLike] | None = None,
    *,
    cache: bool | str | Path = True,
    backend: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
) -> Iterator[Resources]:
    """Open the embedders that these metrics need, until the context ends.

    Args:
        metrics: what to score.
        embedders: names, folders or embedders, the primary one first; None for the embedded model.
        cache: stores vectors of named models: a file, the user's cache (True), or none (False).
        backend: runtime of named models.
        precision: arithmetic.
        threads: batches computed in parallel; None for the cores this process may use.

    Raises:
        UsageError: two embedders have the same name.
        UnknownNameError: a model does not exist.
        StoreError: the cache cannot be opened.
    """
    how: _ModelOptions = {"backend": backend, "precision": precision, "threads": threads}
    encoders = open_token_encoders(metrics, **how)
    readers = open_entailment_models(metrics, threads=threads)
    if not any(metric.vector_needs for metric in metrics):
        yield Resources(token_encoders=encoders, entailment_models=readers)
        return
    with open_cache(cache) as vectors:
        opened: dict[str, Embedder] = {}
        for like in _as_list(embedders):
            embedder = _open(like, vectors, how)
            name = embedder_name(embedder)
            if name in opened:
                raise UsageError(f"Two embedders are called {name!r}.")
            opened[name] = embedder
        for name in _extra_models(metrics, tuple(opened)):
            opened[name] = _open(name, vectors, how)
        yield Resources(opened, token_encoders=encoders, entailment_models=readers)


def open_token_encoders(
    metrics: Sequence[AnyMetric],
    *,
    backend: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
) -> dict[TokenModel, TokenEncoder]:
    """Open the token encoders that these metrics need; token vectors are not cached.

    Raises:
        UnknownNameError: a model does not exist.
        UsageError: a model does not have the layer.
    """
    list_token_model = token_models(metrics)
    if not list_token_model:
        return {}
    from sgi.models.token_encoder.load import load_token_encoder

    how: _ModelOptions = {"backend": backend, "precision": precision, "threads": threads}
    return {model: load_token_encoder(model, **how) for model in list_token_model}


def open_entailment_models(
    metrics: Sequence[AnyMetric], *, threads: int | None = None
) -> dict[str, EntailmentModel]:
    """Open the entailment models that these metrics name; their results are not cached.

    ``torch:`` before a name selects torch; otherwise ONNX Runtime is used if there is a graph.

    Raises:
        UnknownNameError: a name is not that of a model.
        UsageError: a model's settings do not say which output means entailment.
        EmbedderError: its files are missing or cannot be read.
        MissingExtraError: an optional dependency is not installed.
    """
    liststr = entailment_models(metrics)
    if not liststr:
        return {}
    from sgi.models.entailment.load import load_entailment_model

    return {name: load_entailment_model(name, threads=threads) for name in liststr}


def load_embedder(
    name: str | Path = DEFAULT_EMBEDDER,
    *,
    backend: str = "auto",
    precision: str = "auto",
    cache: str | Path | None = None,
) -> Embedder:
    """Load an embedder; ``embed(texts)`` returns unit rows, float32, in the order of the texts.

    Args:
        name: ``"minilm"`` (embedded), another known model, a folder, ``"torch:NAME"``, ``"openai:MODEL"``,
            ``"openai:MODEL@URL"`` or ``"azure:DEPLOYMENT"``.
        backend: ``"auto"``, ``"onnx"``, ``"openvino"`` or ``"torch"``.
        precision: ``"auto"``, ``"f32"``, ``"bf16"`` or ``"int8"``.
        cache: a file for the vectors; None stores none.

    Raises:
        UnknownNameError: the model or backend does not exist.
        ModelMissingError: the model's files do not exist.

    >>> load_embedder("minilm").embed(["Hello."]).shape
    (1, 384)
    """
    from sgi.models.embedder.load import load_embedder as load
    from sgi.store.cache import SqliteCache

    sqlite_cache = None if cache is None else SqliteCache(Path(cache))
    return load(name, backend=backend, precision=precision, cache=sqlite_cache)


@contextmanager
def open_cache(path: bool | str | Path) -> Iterator[Cache]:
    """The vector cache in this file; the user's own if True; one that goes with the context if False."""
    from sgi.store.cache import SqliteCache, default_cache_path

    if path is False:
        with TemporaryDirectory(prefix="sgi-") as folder, SqliteCache(Path(folder) / "vectors.db") as cache:
            yield cache
    else:
        with SqliteCache(default_cache_path() if path is True else Path(path)) as cache:
            yield cache


def _as_list(embedders: EmbedderLike | Sequence[EmbedderLike] | None) -> list[EmbedderLike]:
    if embedders is None:
        return [DEFAULT_EMBEDDER]
    if isinstance(embedders, Sequence) and not isinstance(embedders, str):
        return list(embedders) or [DEFAULT_EMBEDDER]
    return [embedders]


def _extra_models(metrics: Sequence[AnyMetric], configured: tuple[str, ...]) -> list[str]:
    """Models that a metric names in its parameters beyond those configured."""
    wanted = dict.fromkeys(
        name for metric in metrics if metric.vector_needs for name in metric.embedder_names(configured)
    )
    return [name for name in wanted if name not in configured]


def _open(wanted: object, cache: Cache, how: _ModelOptions) -> Embedder:
    """An embedder behind a cache: the run's for a known model, one in memory for the caller's own."""
    from sgi.models.cached_embedder import CachedEmbedder
    from sgi.store.cache import MemoryCache

    if isinstance(wanted, (str, Path)):
        from sgi.models.embedder.load import load_embedder

        return load_embedder(wanted, cache=cache, **how)
    if not isinstance(wanted, Embedder):
        hint = "An embedder has a `fingerprint` and `embed(texts)`; sgi.testing.check_embedder proves it."
        raise UsageError(f"{type(wanted).__name__} is no embedder.", hint=hint)
    return (
        wanted if isinstance(wanted, CachedEmbedder) else CachedEmbedder(ErrorWrapping(wanted), MemoryCache())
    )


class ErrorWrapping:
    """Wraps an embedder, and turns any exception into an EmbedderError.

    The message has only the type and HTTP status, since a client's message may contain a key; the original is
    in ``__cause__``. Errors of this package pass unchanged.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.fingerprint = embedder.fingerprint
        self._call: Callable[[list[str]], Any] = partial(encode, embedder)

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """The embedder's rows."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embedded:
        """The embedder's rows, and the truncated texts."""
        made = self._call_model(list(texts))
        return made if isinstance(made, Embedded) else Embedded(made, np.zeros(len(texts), dtype=np.bool_))

    def _call_model(self, texts: list[str]) -> Any:
        try:
            if inspect.iscoroutinefunction(self._call):
                return anyio.from_thread.run(self._call, texts)
            made = self._call(texts)
            return anyio.from_thread.run(_await, made) if inspect.isawaitable(made) else made
        except EmbedderError:
            raise
        except Exception as error:
            status = getattr(error, "status_code", None)
            shown = f" ({status})" if type(status) is int else ""
            message = f"{embedder_name(self)} raised {type(error).__name__}{shown}."
            hint = "Its own words are not repeated, as they may hold a key; call it yourself to read them."
            raise EmbedderError(message, hint=hint) from error


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
