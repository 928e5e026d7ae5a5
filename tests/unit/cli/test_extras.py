"""A command that needs an extra that is not installed names it before it starts to work."""

from __future__ import annotations

import sys

import pytest


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "plot", "last", "-k", "plane", "-o", "out/plane.svg"),
        ("study", "card", "last", "-m", "sgi", "-o", "out"),
        ("reproduce", "table1", "-o", "out"),
    ],
)
def test_image_files_need_the_extra_images(sgi, words, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    result = sgi(*words)
    assert (result.code, result.out) == (2, "")
    assert "needs the extra 'images'" in result.err
    assert '[images]"' in result.err
    assert not (tmp_path / "out").exists()
