"""Pages that are written by hand name what the code has."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from sgi.cli.commands import command_points
from sgi.kernel.entailment_profile import entailment_profiles
from sgi.kernel.registry import metric_names

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"


def test_the_page_of_entailment_models_has_every_profile_with_its_sources():
    page = (DOCS / "internals" / "entailment-profiles.md").read_text("utf-8")
    for profile in entailment_profiles().values():
        assert f"| {profile.name} | {profile.alias or '–'} | {profile.model} |" in page
        (line,) = re.findall(rf"^\* `{profile.name}`: .*", page, re.MULTILINE)
        assert all(text in line for text in (*profile.sources, profile.needs, profile.unverified))


def test_the_picture_of_metrics_has_only_known_metrics_and_commands():
    texts = [
        "".join(text.itertext())
        for text in ET.parse(DOCS / "images" / "metric-tree.svg").iter(f"{SVG}text")
        if text.get("class") == ""
    ]
    names = ", ".join(texts).replace("judge: ", "")
    assert set(re.findall(r"sgi (\w+)", names)) <= {name.partition(".")[0] for name in command_points()}
    metrics = re.sub(r"sgi [\w ]+|metrics\.toml: formulas, assertions|[@(][^,]*", "", names)
    assert set(metrics.replace(" ", "").split(",")) - {""} <= {*metric_names()}
