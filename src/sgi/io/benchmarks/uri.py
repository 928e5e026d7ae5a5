"""Benchmarks as written where a file's name is expected: ``ragtruth(split=test):PATH``."""

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
# Whoever puts the name of a folder before a path, as a file of settings does, puts it before the benchmark.
_AFTER_FOLDER = re.compile(
    rf"(?P<folder>.*?[/\\])(?P<name>{'|'.join(BENCHMARKS)}){_OPTIONS}:(?P<path>.*)", re.DOTALL
)


@dataclass(frozen=True)
class BenchmarkName:
    """A benchmark with its path, as it was written.

    Attributes:
        name: the benchmark.
        path: its file or folder; None where it is to be found.
        options: its options.
    """

    name: str
    path: Path | None
    options: Mapping[str, str | Path] = field(default_factory=dict)

    def __str__(self) -> str:
        told = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}{f'({told})' if told else ''}:{self.path or ''}"


def parse_name(data: str | os.PathLike[str]) -> BenchmarkName | None:
    """The benchmark that a file's name names; None if there is such a file, or nothing says a benchmark.

    A drive's letter is no benchmark. A relative path is one from the folder that stands before the name.

    >>> parse_name("stsb:sts-test.csv").path.name, parse_name("rows.csv"), parse_name("C:rows.csv")
    ('sts-test.csv', None, None)

    Raises:
        UnknownNameError: what stands there is no benchmark, or not its option; says which come near.
        UsageError: the options cannot be read.
    """
    text, exists = str(data), False
    with suppress(OSError, ValueError):  # too long for a name, or none at all: its opening will tell
        exists = Path(data).exists()
    found = None if exists else _FIRST.fullmatch(text) or _AFTER_FOLDER.fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    benchmark = known_benchmark(parts["name"])
    folder = Path(parts.get("folder") or "")
    options = benchmark.checked(_options(text, parts["options"] or ""))
    placed = {key: folder / value if isinstance(value, Path) else value for key, value in options.items()}
    return BenchmarkName(benchmark.name, folder / parts["path"] if parts["path"] else None, placed)


def open_named_benchmark(spelt: BenchmarkName, columns: Mapping[str, str] | None = None) -> BenchmarkDataset:
    """The benchmark as a dataset.

    Raises:
        UsageError: columns are mapped, though a benchmark's are known.
        DataError: its file is nowhere, or cannot be read.
    """
    if columns:
        hint = "Leave the mapping out, or name the file without the benchmark."
        raise UsageError(f"The columns of {spelt.name} are known.", hint=hint)
    return open_benchmark(spelt.name, spelt.path, **spelt.options)


def absolute(data: Path) -> Path:
    """The same data by a name that holds from any folder.

    >>> absolute(Path("stsb:test.csv")) == Path(f"stsb:{Path('test.csv').resolve()}")
    True
    """
    spelt = parse_name(data)
    if spelt is None:
        return data.resolve()
    path = spelt.path.resolve() if spelt.path else None
    options = {
        key: value.resolve() if isinstance(value, Path) else value for key, value in spelt.options.items()
    }
    return Path(str(BenchmarkName(spelt.name, path, options)))


def _options(text: str, told: str) -> dict[str, str]:
    """What stands in the brackets: ``key=value, key=value``."""
    options: dict[str, str] = {}
    for item in told.split(",") if told.strip() else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value) or key in options:
            raise UsageError(f"Cannot read the options of {text!r}.", hint="Write NAME(key=value, …):PATH.")
        options[key] = value
    return options
