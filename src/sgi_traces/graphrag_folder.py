"""Read folders of answers: a file, or a subfolder of files, for each method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from sgi.io.files import JSON_LINES, file_rows, suffix
from sgi.io.raw_rows import with_place
from sgi.io.rows import read_rows
from sgi.kernel.errors import DataError
from sgi_traces.graphrag_answers import GraphRAGReader
from sgi_traces.graphrag_contexts import read_chunks
from sgi_traces.trace_records import required_id
from sgi_traces.trace_use import TraceUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sgi.io.column_use import ReportColumns
    from sgi.io.raw_rows import RawRow
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample

_ANSWERS, _RETRIEVED = "_answers.", "_retrieval_results."
"""Parts of the names of two files of benchmark-qed that belong together."""
_NO_ANSWERS = ("_questions_text.json", "_assertions.json")
"""Ends of the names of benchmark-qed's files without answers."""
_MAX_FILES = 1000


def _stem(path: Path) -> str:
    return path.with_name(path.name.removesuffix(".gz")).stem


def reader_of(path: Path, method: str | None = None) -> GraphRAGReader:
    """Return the reader of a file; it joins benchmark-qed's ``X_retrieval_results`` to ``X_answers``.

    Raises DataError if the retrieval results cannot be read.
    """
    reader = GraphRAGReader(_stem(path) if method is None else method)
    beside = path.with_name(path.name.replace(_ANSWERS, _RETRIEVED))
    if beside == path or not beside.is_file():
        return reader
    reader.retrieved = retrieved = {}
    for row in file_rows(beside, None):
        try:
            if isinstance(row.values, DataError):
                raise row.values
            values = dict(row.values)
            name = required_id(values.get("question_id"), "question_id")
            retrieved[name] = read_chunks(values.get("context"), "context")
        except DataError as error:
            raise with_place(error, file=str(beside), line=row.line, sample_id=error.sample_id) from None
    return reader


def answer_files(folder: Path) -> list[tuple[Path, str]]:
    """Return the JSON files in a folder and its subfolders, sorted, with the method of each.

    The method is the name of the subfolder, or of the file. Benchmark-qed's questions and assertions are left
    out. Raises DataError if there are none, or more than 1,000.
    """
    try:
        folders = [folder, *(path for path in folder.iterdir() if path.is_dir() and path.name[0] != ".")]
        found = (path for place in folders for path in place.iterdir() if path.name[0] != ".")
        named = (path for path in found if suffix(path) in (*JSON_LINES, ".json") and path.is_file())
        files = sorted(
            islice((path for path in named if not path.name.endswith(_NO_ANSWERS)), _MAX_FILES + 1)
        )
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=str(folder)) from error
    if not 0 < len(files) <= _MAX_FILES:
        problem = f"has more than {_MAX_FILES:,} JSON files" if files else "has no JSON file"
        hint = "The files of answers are .json or .jsonl, in the folder or in a folder for each method."
        raise DataError(problem, file=str(folder), hint=hint)
    joined = {
        path.with_name(path.name.replace(_ANSWERS, _RETRIEVED)) for path in files if _ANSWERS in path.name
    }
    return [
        (path, _stem(path) if path.parent == folder else path.parent.name)
        for path in files
        if path not in joined
    ]


@dataclass(eq=False)
class AnswerFolder:
    """The rows of all files in a folder: a `sgi.io.readers.Dataset`. ``rows`` reads a file."""

    path: Path
    title: str
    rows: Callable[[Path, TraceUse, str | None, GraphRAGReader], Iterator[RawRow]]
    columns: Mapping[str, str] | None = None
    encoding: str | None = None

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples of the files in order; see `sgi.io.rows.read_rows` for rejected rows."""
        use, methods = TraceUse(self.title), dict[str, str]()
        for path, method in answer_files(self.path):
            reader = replace(reader_of(path, method), methods=methods)
            stem = path.relative_to(self.path).as_posix()
            rows = self.rows(path, use, self.encoding, reader)
            yield from read_rows(rows, file=str(path), columns=self.columns, on_reject=on_reject, stem=stem)
        if on_columns is not None:
            on_columns(use.columns(self.columns))
