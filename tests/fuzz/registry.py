"""Every loader as a function of bytes: it returns, or raises an error of the project's own kind.

An expected error is an `SgiError`, or the one exception that the tested function documents. Anything else
is a bug.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from sgi.kernel.errors import SgiError


@dataclass(frozen=True)
class Target:
    """A loader that is fuzzed.

    Attributes:
        run: gives it bytes.
        seeds: valid inputs, made once.
        weight: how many inputs it gets for each thousand of the test; cheap loaders get more.
        expected: what it documents beside `SgiError`.
    """

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    weight: int = 10
    expected: tuple[type[Exception], ...] = field(default=())

    def __call__(self, data: bytes) -> None:
        """Load the bytes; an expected error is none."""
        with suppress(SgiError, *self.expected):
            self.run(data)


TARGETS: dict[str, Target] = {}


def target(
    *seeds: bytes, weight: int = 10, expected: tuple[type[Exception], ...] = (), name: str = ""
) -> Callable[[Callable[[bytes], None]], Callable[[bytes], None]]:
    """Register a function under its name."""

    def add(run: Callable[[bytes], None]) -> Callable[[bytes], None]:
        made = name or run.__name__
        TARGETS[made] = Target(run, lambda: list(seeds) or SEEDS[made](), weight, expected)
        return run

    return add


SEEDS: dict[str, Callable[[], list[bytes]]] = {}
"""Seeds that take time to make, by target."""


def seeds_of(name: str) -> Callable[[Callable[[], list[bytes]]], Callable[[], list[bytes]]]:
    """Register the maker of a target's seeds."""

    def add(make: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
        SEEDS[name] = cache(make)
        return make

    return add


@cache
def folder() -> Path:
    """A folder for files, in memory where there is one."""
    place = Path("/dev/shm")
    return Path(mkdtemp(prefix="sgi-fuzz-", dir=place if place.is_dir() else None))


def saved(name: str, data: bytes) -> Path:
    """The bytes as a file."""
    path = folder() / name
    path.write_bytes(data)
    return path


def remove_files() -> None:
    """Remove what the targets wrote."""
    shutil.rmtree(folder(), ignore_errors=True)
