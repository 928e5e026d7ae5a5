"""Parse benchmarks that are given in place of a file name: ``ragtruth(split=test):PATH``."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.io.benchmarks.registry import BENCHMARKS, known_benchmark, open_benchmark
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from sgi.io.benchmarks.registry import BenchmarkDataset

_OPTIONS = r"(?:\((?P<options>[^()]*)\))?"
_FIRST = re.compile(rf"(?P<name>[A-Za-z]\w+){_OPTIONS}:(?P<path>.*)", re.DOTALL)
# A settings file resolves paths against its folder, so the folder can precede the name of the benchmark.
_AFTER_FOLDER = re.compile(
    rf"(?P<folder>.*?[/\\])(?P<name>{'|'.join(BENCHMARKS)}){_OPTIONS}:(?P<path>.*)", re.DOTALL
)


@dataclass(frozen=True)
class BenchmarkName:
    """A parsed benchmark with its options; ``path`` is None if it is searched in the default places."""

    name: str
    path: Path | None
    options: Mapping[str, str | Path] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}{f'({options})' if options else ''}:{self.path or ''}"


def parse_name(data: str | os.PathLike[str]) -> BenchmarkName | None:
    """Parse a benchmark; return None if a file has exactly this name, or the text is not a benchmark.

    A drive letter is not a benchmark. A folder before the name is the base of a relative path. Raises
    UnknownNameError for an unknown benchmark or option, UsageError if the options cannot be parsed.

    >>> parse_name("stsb:sts-test.csv").path.name, parse_name("rows.csv"), parse_name("C:rows.csv")
    ('sts-test.csv', None, None)
    """
    text, exists = str(data), False
    with suppress(OSError, ValueError):  # not a valid path; opening it will raise an error
        exists = Path(data).exists()
    match = None if exists else _FIRST.fullmatch(text) or _AFTER_FOLDER.fullmatch(text)
    if match is None:
        return None
    parts = match.groupdict()
    benchmark = known_benchmark(parts["name"])
    folder = Path(parts.get("folder") or "")
    options = benchmark.parse_options(_options(text, parts["options"] or ""))
    placed = {key: folder / value if isinstance(value, Path) else value for key, value in options.items()}
    return BenchmarkName(benchmark.name, folder / parts["path"] if parts["path"] else None, placed)


def open_named_benchmark(spelt: BenchmarkName, columns: Mapping[str, str] | None = None) -> BenchmarkDataset:
    """Open the benchmark as a dataset.

    Raises UsageError if columns are mapped (a benchmark's are known), DataError if its file cannot be read.
    """
    if columns:
        hint = "Leave the mapping out, or name the file without the benchmark."
        raise UsageError(f"The columns of {spelt.name} are known.", hint=hint)
    return open_benchmark(spelt.name, spelt.path, **spelt.options)


def absolute(data: Path) -> Path:
    """Make the path of the data absolute, or the paths within the text of a benchmark."""
    spelt = parse_name(data)
    if spelt is None:
        return data.resolve()
    path = spelt.path.resolve() if spelt.path else None
    options = {
        key: value.resolve() if isinstance(value, Path) else value for key, value in spelt.options.items()
    }
    return Path(str(BenchmarkName(spelt.name, path, options)))


def _options(text: str, inner: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for item in inner.split(",") if inner.strip() else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value) or key in options:
            raise UsageError(f"Cannot read the options of {text!r}.", hint="Write NAME(key=value, …):PATH.")
        options[key] = value
    return options
