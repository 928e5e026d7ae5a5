"""Parse data with a named format: ``ragtruth(split=test):PATH`` for benchmarks, ``otel:PATH`` for traces."""

from __future__ import annotations

import difflib
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.io.benchmarks.registry import BENCHMARKS, known_benchmark, open_benchmark
from sgi.io.traces.registry import TRACE_FORMATS, open_traces
from sgi.kernel.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from sgi.io.benchmarks.registry import BenchmarkDataset
    from sgi.io.traces.dataset import TraceDataset

_OPTIONS = r"(?:\((?P<options>[^()]*)\))?"
_FIRST = re.compile(rf"(?P<name>[A-Za-z]\w+){_OPTIONS}:(?P<path>.*)", re.DOTALL)
_NAMES = "|".join((*BENCHMARKS, *TRACE_FORMATS))
# A settings file resolves paths against its folder, so the folder can precede the name.
_AFTER_FOLDER = re.compile(rf"(?P<folder>.*?[/\\])(?P<name>{_NAMES}){_OPTIONS}:(?P<path>.*)", re.DOTALL)


@dataclass(frozen=True)
class DataName:
    """A parsed benchmark with its options, or a format of traces.

    ``path`` is None if a benchmark is searched in the default places.
    """

    name: str
    path: Path | None
    options: Mapping[str, str | Path] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}{f'({options})' if options else ''}:{self.path or ''}"


def parse_name(data: str | os.PathLike[str]) -> DataName | None:
    """Parse the name of data; return None if a file has exactly this name, or the text is a plain path.

    A drive letter is not a name. A folder before the name is the base of a relative path. Raises
    UnknownNameError for an unknown name or option, UsageError if the options cannot be parsed, or if traces
    have no path.

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
    folder = Path(parts.get("folder") or "")
    if parts["name"] in TRACE_FORMATS:
        return _trace_name(text, parts["name"], parts["options"], folder, parts["path"])
    near = tuple(difflib.get_close_matches(parts["name"], TRACE_FORMATS, n=2, cutoff=0.6))
    if near and parts["name"] not in BENCHMARKS:
        raise UnknownNameError(
            "format", parts["name"], near, hint=f"The formats: {', '.join(TRACE_FORMATS)}."
        )
    benchmark = known_benchmark(parts["name"])
    options = benchmark.parse_options(_options(text, parts["options"] or ""))
    placed = {key: folder / value if isinstance(value, Path) else value for key, value in options.items()}
    return DataName(benchmark.name, folder / parts["path"] if parts["path"] else None, placed)


def open_named(
    name: DataName, columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> BenchmarkDataset | TraceDataset:
    """Open a benchmark or traces as a dataset.

    Raises UsageError if columns of a benchmark are mapped (they are known), DataError if the file cannot be
    read.
    """
    if name.name in TRACE_FORMATS:
        return open_traces(name.path or Path(), TRACE_FORMATS[name.name], columns, encoding)
    if columns:
        hint = "Leave the mapping out, or name the file without the benchmark."
        raise UsageError(f"The columns of {name.name} are known.", hint=hint)
    if encoding is not None:
        raise UsageError("Only files of text have an encoding.", hint="Leave out `encoding`.")
    return open_benchmark(name.name, name.path, **name.options)


def absolute(data: Path) -> Path:
    """Make the path of the data absolute, or the paths within the text of a benchmark."""
    spelt = parse_name(data)
    if spelt is None:
        return data.resolve()
    path = spelt.path.resolve() if spelt.path else None
    options = {
        key: value.resolve() if isinstance(value, Path) else value for key, value in spelt.options.items()
    }
    return Path(str(DataName(spelt.name, path, options)))


def _trace_name(text: str, name: str, options: str | None, folder: Path, path: str) -> DataName:
    if options is not None:
        raise UsageError(f"{name} has no options, but {text!r} names some.", hint=f"Write {name}:PATH.")
    if not path:
        raise UsageError(f"{text!r} names no file.", hint=f"Write {name}:PATH.")
    return DataName(name, folder / path)


def _options(text: str, inner: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for item in inner.split(",") if inner.strip() else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value) or key in options:
            raise UsageError(f"Cannot read the options of {text!r}.", hint="Write NAME(key=value, …):PATH.")
        options[key] = value
    return options
