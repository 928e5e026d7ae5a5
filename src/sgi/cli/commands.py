"""The subcommands of ``sgi``: entry points of the group ``sgi.commands``, each imported when it is called.

An entry point names a function with the annotations of Typer, or a `typer.Typer`; its own name is the name of
the command. A name that SGI has cannot be taken by another package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from sgi.kernel.errors import DISTRIBUTION, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping
    from importlib.metadata import EntryPoint

GROUP = "sgi.commands"
"""The entry-point group in which a package registers its commands."""

PANELS = {
    "Score": ("demo", "run", "score", "check", "compute"),
    "Inspect": ("runs", "show", "report", "plot", "export", "serve"),
    "Decide": ("plan", "compare", "diagnose", "repeats", "gate", "watch", "calibrate"),
    "Judge": ("judge", "duel", "labels", "agree", "rescore"),
    "Study": ("card", "bench-metrics", "reproduce"),
    "Manage": ("metrics", "models", "doctor", "rename", "tag", "annotate", "delete", "db", "cache"),
}
"""The commands in the groups and the order in which `sgi --help` lists them; others are in the last group."""

_CLUSTER_GROUP = "sgi.cluster"
_OTHERS = "Plugins"
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


@cache
def command_points() -> dict[str, EntryPoint]:
    """Return the entry points of the installed commands by name, in the order of `sgi --help`."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    count = Counter(point.name for point in points)
    twice = [point for point in points if count[point.name] > 1]  # reading a distribution's name is slow
    ours = {point.name: point for point in twice if point.dist and point.dist.name == DISTRIBUTION}
    installed = {point.name: point for point in points} | ours
    order = {name: number for number, name in enumerate(_PANEL_OF)}
    return {name: installed[name] for name in sorted(installed, key=lambda name: order.get(name, len(order)))}


class _Commands(Mapping[str, TyperCommand | TyperGroup]):
    """The installed commands by name; a command is imported when it is looked up."""

    def __init__(self) -> None:
        self._loaded: dict[str, TyperCommand | TyperGroup] = {}

    def __getitem__(self, name: str) -> TyperCommand | TyperGroup:
        if name not in self._loaded:
            self._loaded[name] = _load(name, command_points()[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(command_points())

    def __len__(self) -> int:
        return len(command_points())


class CommandGroup(TyperGroup):
    """A group that imports a command when it is called, or when the help lists it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": {}})
        self.commands = cast("MutableMapping[str, Any]", _Commands())  # nothing adds a command

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, without importing any."""
        del ctx
        return list(self.commands)


def cluster_function(name: str) -> Callable[..., Any]:
    """Return a function of the package for Ray clusters: ``run`` of `sgi run`, ``import`` of `sgi db`."""
    found = entry_points(group=_CLUSTER_GROUP, name=name)
    if not found:
        raise UsageError("The package sgi_cluster is not installed.", hint=f"Install {DISTRIBUTION} again.")
    return cast("Callable[..., Any]", next(iter(found)).load())


def _load(name: str, point: EntryPoint) -> TyperCommand | TyperGroup:
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The command {name!r} cannot be loaded from {point.value!r}: {error}.") from error
    panel = _PANEL_OF.get(name, _OTHERS)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        found.command(name)(function)
    command = cast("TyperCommand | TyperGroup", get_command(found))
    command.name, command.rich_help_panel = name, panel
    return command
