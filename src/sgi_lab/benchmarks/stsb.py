"""STS-B: pairs of sentences with human ratings of their similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.io.columns import checked_mapping
from sgi.io.files import file_rows, suffix
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_lab.benchmarks.base import BenchmarkRows, other_columns, own_rows, read_field
from sgi_lab.benchmarks.tsv import first_line, tsv_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.io.raw_rows import RawRow

_UNNAMED = ("genre", "file", "year", "sid", "score", "sentence1", "sentence2")
"""The columns of ``sts-train.csv``, which has tabs and no header."""
_HIGHEST = 5.0
_MAPPING = {"reference": "sentence1", "response": "sentence2"}


def stsb(path: Path) -> BenchmarkRows:
    """Read STS-B: ``sentence1``, ``sentence2`` and ``score``, from 0 (unrelated) to 5 (the same meaning).

    The first sentence is the reference, the second the response; there is no label. The metadata holds
    ``similarity`` = score/5 in [0, 1], the score and the other columns. Formats: ``sts-train.csv`` as
    published (tabs, no header), tables with a header (tabs without quoting, or commas with quoting), and
    JSON lines. Ids are ``stsb-<row>`` from 1.

    References: Cer et al. (2017), SemEval-2017 Task 1, arXiv:1708.00055.
    """
    return BenchmarkRows(path, _rows(path), _row)


def _rows(path: Path) -> Iterator[RawRow]:
    if suffix(path) in {".csv", ".tsv"}:
        cells_found = first_line(path).removeprefix("\ufeff").split("\t")
        named = {"sentence1", "sentence2"} <= {cell.strip() for cell in cells_found}
        if len(cells_found) > 1:
            return tsv_rows(path, None if named else _UNNAMED)
    table = suffix(path) in {".csv", ".tsv", ".parquet"}
    return file_rows(path, checked_mapping(_MAPPING) if table else ())


def _row(values: Mapping[str, Any], number: int) -> list[Mapping[str, Any]]:
    if not {"sentence1", "sentence2"} <= values.keys():
        return [_with_similarity(row) for row in own_rows(values, "STS-B", "sentence1, sentence2 and score")]
    score = read_field(values, "score", _score)
    others = other_columns(values, "sentence1", "sentence2", "score")
    return [
        {
            "id": f"stsb-{number}",
            "reference": read_field(values, "sentence1"),
            "response": read_field(values, "sentence2"),
            "metadata": {"similarity": score / _HIGHEST, "score": score, **others},
        }
    ]


def _with_similarity(values: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in ("metadata", "meta"):
        metadata = values.get(name)
        if isinstance(metadata, dict) and "score" in metadata and "similarity" not in metadata:
            return {
                **values,
                name: {"similarity": read_field(metadata, "score", _score) / _HIGHEST, **metadata},
            }
    return values


def _score(value: Any) -> float:
    try:
        score = float(value) if isinstance(value, (str, int, float)) else -1.0
    except ValueError:
        score = -1.0
    if not 0 <= score <= _HIGHEST:
        raise DataError(f"expected a number from 0 to 5, found {raw_values.describe(value)}")
    return score
