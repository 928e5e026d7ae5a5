"""The picture of metrics is up to date, and names only what is there."""

from __future__ import annotations

import re

from sgi.cli.commands import command_points
from sgi.kernel.registry import metric_names
from support.scripts import load_script


def test_the_picture_is_the_one_of_the_script_and_every_name_is_known():
    with load_script("metric_tree") as tree:
        assert tree.PAGE.read_text("utf-8") == tree.picture()
        leaves = [leaf for leaves in tree.TREE.values() for leaf in leaves]
    names = ", ".join(f"{leaf.names}, {leaf.judged}" for leaf in leaves)
    verbs = set(re.findall(r"sgi (\w+)", names))
    assert verbs <= {*command_points()}
    metrics = re.sub(r"sgi [\w ]+|metrics\.toml: formulas, assertions|[@(][^,]*", "", names)
    assert set(metrics.replace(" ", "").split(",")) - {""} <= {*metric_names()}
