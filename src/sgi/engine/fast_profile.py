"""The precision ``fast``: the fastest arithmetic on this processor, and how much it changes metrics."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import as_file, files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import numpy as np
from pydantic import BaseModel, ValidationError

from sgi.engine.resources import Resources
from sgi.engine.score import evaluate_batch
from sgi.engine.spec import DEFAULT_EMBEDDER
from sgi.io.files import open_file
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch
from sgi.kernel.signature import digest, package_version
from sgi.models.embedder.fastest import choose, find_candidates, time_candidates
from sgi.store.cache import default_cache_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.engine.spec import Arithmetic
    from sgi.models.embedder.fastest import Candidate
    from sgi.models.embedder.local import LocalEmbedder

ROWS = 100
"""Number of rows of the bundled sample whose metrics are compared: 50 questions with two answers each."""
TIMED_ROWS = 4
COMPARED = ("grounding", "sgi", "sgi_bounded", "theta_rc", "theta_qc", "theta_rq", "semantic_similarity")
"""The metrics that use vectors and need no judge."""
_RUNTIMES = ("onnxruntime", "openvino", "numpy")

logger = logging.getLogger(__name__)


class MetricChange(BaseModel, frozen=True):
    """The change of a metric by a precision.

    Attributes:
        largest: the largest absolute change of a value.
        threshold: the value that best separates right from wrong answers of the sample, in full precision.
        verdicts: number of rows whose value moves across this threshold.
    """

    metric: str
    largest: float
    threshold: float
    verdicts: int


class FastProfile(BaseModel, frozen=True):
    """The fastest arithmetic for a model on this processor.

    Attributes:
        model: the model's name.
        milliseconds: the time of one row, by runtime and precision.
        rows: number of rows in which the metrics were compared.
        changes: the change of each metric against ONNX Runtime with f32 (or the most precise candidate).
    """

    model: str
    backend: str
    precision: str
    milliseconds: dict[str, float]
    rows: int
    changes: tuple[MetricChange, ...]

    def lines(self) -> list[str]:
        """Describe the choice, and the largest change of each metric."""
        times = ", ".join(f"{name} {value:.1f}" for name, value in self.milliseconds.items())
        chosen = f"Fast: {self.model} runs on {self.backend} with {self.precision}. ms per row: {times}."
        if not any(change.largest for change in self.changes):
            return [chosen, "Fast: no metric changes."]
        changes = ", ".join(
            f"{change.metric} {change.largest:.2g} ({change.verdicts} verdicts)" for change in self.changes
        )
        most = max(self.changes, key=lambda change: change.largest)
        where = f"{most.largest:.2g} ({most.metric}), in {self.rows} rows of HaluEval QA"
        change = f"Fast: the largest change of any metric is {where}. By metric, with changed verdicts: "
        return [chosen, f"{change}{changes}."]


@cache
def fast_profile(name: str | Path = DEFAULT_EMBEDDER, backend: str = "auto") -> FastProfile | None:
    """Return the fastest arithmetic for a model; measured once for each processor, model and runtime.

    The measurement takes some seconds. Its result is stored in the user's cache folder. Models that are
    opened with ``precision="fast"`` use it.

    Args:
        name: the model, as for `sgi.load_embedder`.
        backend: the only runtime to use, or ``auto``.

    Returns:
        The profile, whose ``lines()`` describe it; None for a model that neither ONNX Runtime nor OpenVINO
        runs, such as a remote one.

    >>> fast_profile(backend="onnx").lines()[1]
    'Fast: no metric changes.'
    """
    candidates = find_candidates(name, backend)
    if not candidates:
        return None
    path = default_cache_path(f"fast-{_key(candidates)}.json")
    with suppress(OSError, ValidationError):
        return FastProfile.model_validate_json(path.read_bytes())
    profile = _measure(candidates)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(profile.model_dump_json(), encoding="utf-8")
        unfinished.replace(path)
    return profile


def fast_arithmetic(name: str | Path, backend: str) -> Arithmetic:
    """Return runtime and precision of a model with the precision ``fast``; log the profile."""
    profile = fast_profile(name, backend)
    if profile is None:
        return {"backend": backend, "precision": "auto"}
    for line in profile.lines():
        logger.info(line)
    return {"backend": profile.backend, "precision": profile.precision}


def _measure(candidates: dict[Candidate, LocalEmbedder]) -> FastProfile:
    batch, labels = _sample()
    texts = [(row.question, *row.contexts, row.response) for row in batch.samples[: 2 * TIMED_ROWS : 2]]
    seconds = time_candidates(candidates, texts) if len(candidates) > 1 else dict.fromkeys(candidates, 0.0)
    chosen = choose(seconds)
    exact = next(iter(candidates))
    changes: tuple[MetricChange, ...] = ()
    if chosen != exact:
        before, after = (_values(batch, candidates[each]) for each in (exact, chosen))
        changes = tuple(_change(each, before[each], after[each], labels) for each in COMPARED)
    return FastProfile(
        model=candidates[exact].files.name,
        backend=chosen.backend,
        precision=chosen.precision,
        milliseconds={str(each): round(1000 * value, 2) for each, value in seconds.items()},
        rows=len(batch),
        changes=changes,
    )


def _sample() -> tuple[Batch, NDArray[np.bool_]]:
    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as path:
        samples = list(islice(open_file(path).samples(), ROWS))
    return Batch(tuple(samples)), np.array([bool(sample.label) for sample in samples])


def _values(batch: Batch, embedder: LocalEmbedder) -> dict[str, NDArray[np.float64]]:
    metrics = [metric(name) for name in COMPARED]
    score = partial(evaluate_batch, batch, metrics, Resources({embedder.files.name: embedder}))
    with ThreadPoolExecutor(1) as thread:  # this thread may have a running event loop
        scores = thread.submit(lambda: anyio.run(score)).result().scores
    return {name: scores[name].values for name in COMPARED}


def _change(
    name: str, before: NDArray[np.float64], after: NDArray[np.float64], labels: NDArray[np.bool_]
) -> MetricChange:
    both = np.isfinite(before) & np.isfinite(after)
    before, after, labels = before[both], after[both], labels[both]
    threshold = _best_threshold(before if metric(name).spec.higher_is_better else -before, labels)
    threshold = threshold if metric(name).spec.higher_is_better else -threshold
    return MetricChange(
        metric=name,
        largest=float(np.abs(after - before).max(initial=0.0)),
        threshold=threshold,
        verdicts=int(np.count_nonzero((before >= threshold) != (after >= threshold))),
    )


def _best_threshold(values: NDArray[np.float64], labels: NDArray[np.bool_]) -> float:
    """Return the threshold that classifies most rows as their labels do."""
    order = np.sort(values)
    middles = (order[1:] + order[:-1]) / 2
    right = [np.count_nonzero((values >= middle) == labels) for middle in middles.tolist()]
    return float(middles[int(np.argmax(right))])


def _key(candidates: dict[Candidate, LocalEmbedder]) -> str:
    """Return a digest of everything that the profile depends on."""
    facts: Sequence[Any] = (
        package_version(),
        _processor(),
        os.cpu_count(),
        [_version(name) for name in _RUNTIMES],
        [(str(each), embedder.fingerprint, embedder.threads) for each, embedder in candidates.items()],
    )
    return digest(repr(facts).encode()).hex()


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith(("model name", "flags", "Features")):
                return line
    import platform

    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
