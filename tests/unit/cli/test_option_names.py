"""An option name means the same in every command."""

from __future__ import annotations

from collections import defaultdict

import typer

from sgi.cli.commands import command_points
from sgi.cli.main import app

SINGLE = ("--map", "--target", "--scale", "--against", "--sample", "--weights", "--changed")
"""Options that had two meanings once: each kind of value has one text now."""


def parameters():
    root = typer.main.get_command(app)
    for point in command_points():
        *group, name = point.split(".")
        todo = [(root.commands[group[0]] if group else root).commands[name]]
        while todo:
            command = todo.pop()
            todo += getattr(command, "commands", {}).values()
            yield from command.params


def test_an_option_has_one_kind_of_value_and_one_meaning():
    kinds, texts = defaultdict(set), defaultdict(set)
    for parameter in parameters():
        for name in parameter.opts:
            if name.startswith("--"):
                kinds[name].add((parameter.is_flag, parameter.multiple))
                texts[name].add(parameter.help)
    assert [name for name in SINGLE if len(texts[name]) > 1] == []
    by = texts["--by"]
    assert len(by) > 1
    assert all(text.startswith("Split the rows ") for text in by)
