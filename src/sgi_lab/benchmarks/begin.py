"""BEGIN: dialogue turns of four systems; people labelled whether given knowledge supports each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.io.files import file_rows, suffix
from sgi.kernel.errors import DataError
from sgi_lab.benchmarks.base import BenchmarkRows, other_columns, own_rows, read_field
from sgi_lab.benchmarks.tsv import tsv_rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LABELS = {"fully attributable": True, "not fully attributable": False, "generic": None}
_COLUMNS = ("knowledge", "message", "response", "begin_label")
_MODELS = {"model_name": "model"}


def begin(path: Path) -> BenchmarkRows:
    """Read BEGIN, a TSV: ``model_name``, ``knowledge``, ``message``, ``response``, ``begin_label``.

    The message is the question, the knowledge the context. "Fully attributable" is labelled true, "Not fully
    attributable" false; "Generic", a turn without a claim, has no label. The published label, the model and
    the source stay in the metadata; ids are ``begin-<row>`` from 1. This is the release of June 2022; files
    with the labels of 2021 are rejected.

    References: Dziri et al. (2022), The BEGIN Benchmark, arXiv:2105.00071.
    """
    return BenchmarkRows(path, tsv_rows(path) if suffix(path) == ".tsv" else file_rows(path), _row)


def _row(values: Mapping[str, Any], number: int) -> list[Mapping[str, Any]]:
    if not set(_COLUMNS) <= values.keys():
        return own_rows(values, "BEGIN", "knowledge, message, response and begin_label")
    published = read_field(values, "begin_label")
    label = published.strip().casefold()
    if label not in _LABELS:
        known = "Fully attributable, Not fully attributable and Generic"
        raise DataError(
            f"the label {published[:40]!r} is unknown; known labels are {known}", field="begin_label"
        )
    others = {_MODELS.get(key, key): value for key, value in other_columns(values, *_COLUMNS).items()}
    return [
        {
            "id": f"begin-{number}",
            "question": read_field(values, "message"),
            "context": read_field(values, "knowledge"),
            "response": read_field(values, "response"),
            "label": _LABELS[label],
            "metadata": {"begin_label": published, **others},
        }
    ]
