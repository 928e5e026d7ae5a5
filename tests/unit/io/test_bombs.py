"""No small file takes more than 600 MB to read or to refuse, the process that decodes it included."""

from __future__ import annotations

import pytest

from support.bombs import BOMBS, reading_process

MOST = 600


@pytest.fixture(scope="module")
def read():
    with reading_process() as opened:
        yield opened


def _marked(bomb):
    return pytest.param(bomb, id=bomb.name, marks=[pytest.mark.slow] if bomb.slow else [])


@pytest.mark.parametrize("bomb", [_marked(bomb) for bomb in BOMBS])
def test_a_file_that_decodes_to_much_is_read_or_refused_in_little_memory(tmp_path, bomb, read):
    text, peak = read(bomb.make(tmp_path))

    assert bomb.expected in text
    assert peak < MOST
