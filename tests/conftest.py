"""Fixtures for all tests: no remote network, a separate cache, the labelled data, databases."""

from __future__ import annotations

import functools
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.main
import typer.testing

try:
    from hypothesis import settings
except ImportError:  # pytest alone is installed
    raise SystemExit("The tests need more packages. Run `make test`, which installs them.") from None

from sgi.models.batching import usable_cores
from sgi.store import sqlite_file
from sgi.store.sqlite_file import sync_folder, write_ahead

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from support.postgres import Server

# The same examples in every run; `make test-all` uses the thorough profile.
settings.register_profile("steady", derandomize=True, max_examples=25, deadline=None)
settings.register_profile("thorough", derandomize=True, max_examples=200, deadline=None)
settings.load_profile("steady")

os.environ["HF_HUB_OFFLINE"] = "1"
# What commands print is wrapped at the same place, whatever the terminal of the test run is.
os.environ["COLUMNS"] = "80"
_REMOTE = (
    *("OPENAI_", "AZURE_OPENAI_", "OLLAMA_", "VLLM_", "OPENROUTER_", "AWS_"),
    *("ANTHROPIC_", "GOOGLE_", "GEMINI_"),
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use one worker more than cores, since many tests wait for a server, a disk or another process."""
    return usable_cores() + 1


def pytest_collection_finish() -> None:
    """Exclude the collected tests and modules from garbage collection, which would visit them each time."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _test_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Use a vector cache and a model folder for the tests only, never those of the user.

    All processes of a test run share them, so each text of the labelled data is embedded once.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    for name in ("cache", "models"):
        (shared / name).mkdir(exist_ok=True)
        os.environ[f"SGI_{name.upper()}_DIR"] = str(shared / name)


@pytest.fixture(scope="session", autouse=True)
def _cached_parsers() -> Iterator[None]:
    """Build the command-line parsers once, since building them takes longer than many commands."""
    cached = functools.cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cached)
        patch.setattr(typer.testing, "_get_command", cached)
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_databases() -> Iterator[None]:
    """Do not wait for the disk in this process; processes that tests start wait, as for a user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_file, "write_ahead", _write_without_waiting)
        patch.setattr(sqlite_file, "sync_folder", lambda _folder: None)
        yield


def _write_without_waiting(connection: sqlite3.Connection, *, durable: bool) -> None:
    write_ahead(connection, durable=durable)
    connection.execute("PRAGMA synchronous = OFF")


@pytest.fixture
def real_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the disk, as for a user."""
    monkeypatch.setattr(sqlite_file, "write_ahead", write_ahead)
    monkeypatch.setattr(sqlite_file, "sync_folder", sync_folder)


@pytest.fixture
def no_remote_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Use an empty working folder, and no environment variable of a remote service."""
    for name in [*os.environ]:
        if name.startswith(_REMOTE):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of labelled data: SGI_DATA_DIR, or shared/data beside the checkout."""
    folder = Path(os.environ.get("SGI_DATA_DIR") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"needs the labelled data, which is not at {folder}: set SGI_DATA_DIR")
    return folder.resolve()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server. Each test process starts its own when a test first needs it."""
    from support.postgres import running_server

    with running_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite database that does not exist yet."""
    return f"sqlite:///{tmp_path / 'sgi.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database; a test with this fixture runs on SQLite and on PostgreSQL."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url
