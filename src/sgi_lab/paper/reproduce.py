"""Run experiments by name and write their findings."""

from __future__ import annotations

import difflib
import warnings
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.engine.progress import silent
from sgi.kernel.errors import DataError, MissingExtraError, ModelMissingError, UnknownNameError, UsageError
from sgi.kernel.protocols import embedder_name
from sgi_lab.paper import ALL
from sgi_lab.paper.displacement_tables import displacement
from sgi_lab.paper.figure2 import figure2
from sgi_lab.paper.paper_calibration import calibration, figure5
from sgi_lab.paper.table1 import table1
from sgi_lab.paper.table4 import table4
from sgi_lab.paper.table5 import table5
from sgi_lab.paper.terciles import figure3, figure4, table2, table3
from sgi_lab.paper.workbench import HALUEVAL, TRUTHFULQA, Workbench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sgi.engine.progress import Listener
    from sgi.kernel.protocols import Cache, Embedder
    from sgi.kernel.sample import Sample
    from sgi_lab.paper.findings import Finding
    from sgi_lab.paper.workbench import SampleName

EXPERIMENTS: dict[str, Callable[[Workbench], Finding]] = {
    experiment.__name__: experiment
    for experiment in (
        *(table1, table2, table3, table4, table5),
        *(figure2, figure3, figure4, figure5),
        *(displacement, calibration),
    )
}
"""Experiments by name, in the order of `sgi_lab.paper.NAMES`."""


def experiment_names(name: str) -> tuple[str, ...]:
    """Return the experiments of a name; raise UnknownNameError if there are none.

    >>> experiment_names("table2")
    ('table2',)
    """
    if name == ALL:
        return tuple(EXPERIMENTS)
    if name in EXPERIMENTS:
        return (name,)
    known = [*EXPERIMENTS, ALL]
    near = tuple(difflib.get_close_matches(name, known, n=2))
    raise UnknownNameError("experiment", name, near, hint=f"Known names: {', '.join(known)}.")


def run_experiments(names: Iterable[str], bench: Workbench) -> Iterator[Finding]:
    """Yield the findings of these experiments.

    Raises:
        DataError: an experiment's data is missing or has no labels.
        ModelMissingError: a model is missing.
    """
    for name in names:
        yield EXPERIMENTS[name](bench)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=2)


@contextmanager
def open_workbench(
    models: Sequence[str] = ("minilm",),
    data: Sequence[str | Path] = (),
    *,
    sample: SampleName = "paper",
    limit: int | None = None,
    seed: int = 0,
    cache: str | Path | bool = True,
    listener: Listener = silent,
    warn: Callable[[str], None] = _warn,
) -> Iterator[Workbench]:
    """Context manager that gives data and models to experiments; both are opened at first use.

    Args:
        models: names, folders or hub names, as for `sgi.load_embedder`; a repeated name is a UsageError.
        Models that are not on this machine are left out with a warning, if others are there.
        data: files or folders: ``BENCHMARK:PATH``, a folder with the benchmarks' files, or the HaluEval QA
            file, with TruthfulQA's beside it. By default, the locations of `open_benchmark`; if none has
            HaluEval QA, the items that come with SGI, with a warning.
        sample: sample for experiments on one sample.
        limit: maximum number of answers per benchmark; all if None.
        seed: random seed.
        cache: cache of vectors: a file, the user's cache (True), or none (False).
        listener: receives the progress of embedding.
        warn: receives the warnings; by default they are Python warnings.

    Raises ModelMissingError or MissingExtraError if no model is here.
    """
    from sgi.store.cache import open_cache

    names = [name.strip() for name in models if name.strip()]
    if not names or len(set(names)) < len(names):
        raise UsageError(f"Give one or more models, each of them once, not {', '.join(names) or 'none'}.")
    with ExitStack() as stack:
        vectors = stack.enter_context(open_cache(cache))
        opened = _open_models(names, vectors, warn)
        # A folder path is not a table heading; use the embedder's name.
        embedders = {embedder_name(e) if "/" in name else name: e for name, e in opened.items()}
        yield Workbench(_reader([str(path) for path in data], limit, warn), embedders, sample, seed, listener)


def _open_models(names: Sequence[str], cache: Cache, warn: Callable[[str], None]) -> dict[str, Embedder]:
    from sgi.engine.open_resources import open_embedder
    from sgi.engine.run_options import RunOptions

    opened: dict[str, Embedder] = {}
    missing: dict[str, ModelMissingError | MissingExtraError] = {}
    for name in names:
        try:
            opened[name] = open_embedder(name, cache, RunOptions(long_texts="truncate"))
        except (ModelMissingError, MissingExtraError) as error:
            missing[name] = error
    if not opened:
        raise next(iter(missing.values()))
    for name, problem in missing.items():
        warn(f"The model {name} is left out. {problem}")
    return opened


def _reader(
    data: Sequence[str], limit: int | None, warn: Callable[[str], None]
) -> Callable[[str], tuple[str, Sequence[Sample]]]:
    from sgi_lab.benchmarks import BENCHMARKS, open_benchmark

    def read(benchmark: str) -> tuple[str, Sequence[Sample]]:
        path = _benchmark_path(benchmark, data)
        if benchmark == HALUEVAL and not data:
            try:
                path = BENCHMARKS[benchmark].find()
            except DataError as error:
                path = Path(str(files("sgi") / "data" / "halueval_qa_sample.jsonl"))
                warn(f"This uses the 250 items that come with SGI: {error}")
        dataset = open_benchmark(benchmark, path)
        return (benchmark if path is None else path.name), list(islice(dataset.samples(), limit))

    return read


def _benchmark_path(benchmark: str, data: Sequence[str]) -> Path | None:
    """Return the path of a benchmark among the given paths, or None; a missing path is a UsageError."""
    from sgi_lab.benchmarks import BENCHMARKS

    names = (*BENCHMARKS[benchmark].files, BENCHMARKS[benchmark].packaged or "")
    paths = []
    for given in data:
        name, _, path = given.partition(":")
        if name == benchmark and path:
            return Path(path)
        if name not in (HALUEVAL, TRUTHFULQA):
            paths.append(Path(given))
    for place in paths:
        if not place.exists():
            raise UsageError(f"The file or folder {place} does not exist.", hint="Name it with --data.")
        if place.is_file() and benchmark == HALUEVAL:
            return place
        folder = place if place.is_dir() else place.parent
        found = next((folder / file for file in names if (folder / file).is_file()), None)
        if found is not None:
            return found
    return None
