"""Every value of a real export and of a folder, replaced by everything that it is not."""

import json
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from itertools import product
from random import Random
from typing import Any

import pytest

from fuzz.import_targets import SEEDS
from sgi.kernel.errors import SgiError

pytestmark = pytest.mark.filterwarnings("default")
DELETED = object()
DEEP: list[Any] = []
for _ in range(900):
    DEEP = [DEEP]
VALUES = (
    *(
        DELETED,
        None,
        True,
        -1,
        0,
        2**31,
        2**63,
        10**400,
        0.5,
        float("nan"),
        float("inf"),
        "",
        "x",
        "\ud800",
        "\0",
    ),
    *(
        "\x1b[2J" * 9,
        "x" * 5000,
        [],
        [1],
        ["x"],
        {},
        {"": None},
        {"x": {"y": []}},
        DEEP,
        "last",
        "../../x",
        "s3://x/y",
    ),
)
SAMPLE = 25


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside of another."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with one value replaced or left out."""
    made = deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if new is DELETED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return made


def lines(documents: list[Any]) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def changed(seed: Callable[[], bytes]) -> Iterator[Callable[[], bytes]]:
    """What makes lines of JSON with another value, for each place and value."""
    documents = [json.loads(line) for line in seed().splitlines()]
    for at, document in enumerate(documents):
        for path, new in product(places(document), VALUES):
            yield lambda at=at, path=path, new=new, old=document: lines(
                [*documents[:at], replaced(old, path, new), *documents[at + 1 :]]
            )


@pytest.mark.parametrize(("run", "seed"), SEEDS.items())
def test_no_value_ends_in_a_traceback(run, seed):
    """A seeded sample; `PYTHONPATH=tests python tests/fuzz/test_import_values.py` runs all of them."""
    for made in Random(17).sample(list(changed(seed)), SAMPLE):
        with suppress(SgiError):
            run(made())


@pytest.mark.parametrize("run", SEEDS)
def test_the_seeds_are_imported(run):
    run(SEEDS[run]())


if __name__ == "__main__":
    for run, seed in SEEDS.items():
        outcomes = Counter[str]()
        for made in changed(seed):
            try:
                run(made())
                outcomes["imported"] += 1
            except SgiError:
                outcomes["refused"] += 1
            except Exception:  # noqa: BLE001 - they are what is looked for
                outcomes["fell"] += 1
                print(traceback.format_exc(limit=-4))
        print(run.__name__, dict(outcomes))
