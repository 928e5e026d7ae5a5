from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from support.scripts import load_script

TEXT = "{http://www.w3.org/2000/svg}text"


def numbers_and_words(path):
    """Return the texts, and all numbers of a figure; processors round differently."""
    content = path.read_text("utf-8")
    texts = [each.text for each in ET.fromstring(content).iter(TEXT)]  # noqa: S314 - our own file
    return texts, [float(each) for each in re.findall(r"-?\d+\.\d", content)]


def test_the_committed_figures_are_those_of_the_script(tmp_path):
    with load_script("make_statistics_figures") as script:
        script.main(tmp_path)
        for made in sorted(tmp_path.glob("*.svg")):
            texts, numbers = numbers_and_words(script.IMAGES / made.name)
            new_texts, new_numbers = numbers_and_words(made)
            assert texts == new_texts, made.name
            assert numbers == pytest.approx(new_numbers, abs=1), made.name
        assert len(list(tmp_path.iterdir())) == 2
