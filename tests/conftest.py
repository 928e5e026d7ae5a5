"""What every test stands on: no network beyond this machine, a cache of its own, the labelled data."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from sgi.models.cores import usable_cores
from support.quick_databases import use_quick_databases, use_real_databases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.postgres import Server

# The same examples in every run; `make test-all` uses the thorough profile.
settings.register_profile("steady", derandomize=True, max_examples=35, deadline=None)
settings.register_profile("thorough", derandomize=True, max_examples=200, deadline=None)
settings.load_profile("steady")

os.environ["HF_HUB_OFFLINE"] = "1"
_REMOTE = ("OPENAI_", "AZURE_OPENAI_", "OLLAMA_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: many tests wait for a server, a disk or another process."""
    return usable_cores() + 1


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The tests share one vector cache and one folder of models, and never touch the user's.

    All processes of a run share them: a text of the labelled data is embedded once, whoever wants it first.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    for name in ("cache", "models"):
        (shared / name).mkdir(exist_ok=True)
        os.environ[f"SGI_{name.upper()}_DIR"] = str(shared / name)


@pytest.fixture(scope="session", autouse=True)
def _parsers_are_made_once() -> Iterator[None]:
    """Make the parsers of all verbs once, not for each command: they take longer than many commands do."""
    once = functools.cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", once)
        patch.setattr(typer.testing, "_get_command", once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_databases() -> Iterator[None]:
    """Databases of this process are made quickly; processes that tests start have real ones."""
    with pytest.MonkeyPatch.context() as patch:
        use_quick_databases(patch)
        yield


@pytest.fixture
def real_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the real migrations, and wait for the disk."""
    use_real_databases(monkeypatch)


@pytest.fixture
def no_remote_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty working folder, and no variable of a remote service."""
    for name in [*os.environ]:
        if name.startswith(_REMOTE):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The labelled data beside the checkout, or where SGI_DATA_DIR says."""
    folder = Path(os.environ.get("SGI_DATA_DIR") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"needs the labelled data, which is not at {folder}: set SGI_DATA_DIR")
    return folder.resolve()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server; each process of the suite starts its own, when a test first wants it."""
    from support.postgres import running_server

    with running_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """An empty PostgreSQL database of the test's own."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The place of a SQLite database that isn't there yet."""
    return f"sqlite:///{tmp_path / 'sgi.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database of the test's own: every test that asks runs on both kinds."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url
