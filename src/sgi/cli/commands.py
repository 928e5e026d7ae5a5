"""The subcommands of ``sgi``: entry points of the group ``sgi.commands``, each imported when it is called.

An entry point names a function with the annotations of Typer, or a `typer.Typer`. Its own name is the name of
the command; ``runs.export`` is the command ``export`` of the group ``runs``. A name that SGI has cannot be
taken by another package.
"""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Mapping
from copy import copy
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from sgi.kernel.errors import DISTRIBUTION, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping, Sequence
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "sgi.commands"
"""The entry-point group in which a package registers its commands."""

EVERYDAY = {
    "check": "Score one answer, and show what the passages do not support.",
    "run": "Score a file of answers, and store the run.",
    "compare": "Compare two runs row by row, or rank several systems.",
    "gate": "Decide whether a run is good enough; exit 4 if not.",
    "report": "Write a report as one HTML file.",
    "diagnose": "Say what is wrong with each row, and what to fix.",
    "quiz": "Make questions with right answers from your documents.",
    "serve": "Serve the dashboard and the API; receive traces.",
    "doctor": "Check the installation.",
}
"""The commands that `sgi --help` lists first, in the order of a day, each with its sentence there."""

GROUPS = {
    "guard": "Block answers that their passages do not support.",
    "runs": "Manage stored runs: list, show, export, tag, delete.",
    "judge": "Judges and labels: compare systems, label, calibrate.",
    "study": "Plan a sample, test a metric, watch a trend.",
}
"""The groups of commands, each with the sentence of its help."""

ALSO = ("demo", "audit", "show", "metrics", "score", "compute", "mcp", "reproduce")
"""Commands that `sgi --help` only names."""

MEMBERS = {
    "guard": ["fit"],
    "runs": ["list", "show", "export", "plot", "rename", "tag", "annotate", "delete", "db", "cache"],
    "judge": ["duel", "agree", "labels", "calibrate", "rescore", "record", "replay"],
    "study": ["plan", "card", "bench", "repeats", "watch", "models"],
}
"""The commands of each group, in the order of its help."""

FIRST_OPTIONS = {
    "run": "metrics name out columns judge_model target_where embedders resume db as_json",
    "score": "metric columns judge_model embedders on_error",
    "compare": "by metric margin as_json db",
    "gate": "against max_drop coverage on db as_json",
    "audit": "metric labels probe since db as_json",
    "report": "by out format_ worst title open_ db",
    "diagnose": "by cause limit out db as_json",
    "serve": "host port db open_page token otlp guard",
    "show": "by sort sample worst metric db as_json",
    "runs.plot": "kind out metric against db",
    "judge.duel": "judge_model by on out judge_max_cost db as_json",
    "guard.fit": "max_false_alarms bad columns out as_json",
    "judge.calibrate": "metric label target out db as_json",
    "study.card": "metric label out db as_json",
}
"""The parameters that the help of a command with many options shows; ``--help-all`` shows all."""

HELP_NAMES = ["-h", "--help"]
"""Names of the help option of every command."""

_OWN = {*EVERYDAY, *ALSO, *GROUPS}
_CLUSTER_FUNCTIONS = "sgi.cluster"
_FROM_PACKAGES = "Plugins"
_SHORT_EXAMPLES = 6
_ALL_OPTIONS = "sgi.all_options"
_WIDTH = 78
"""Longest line of an example in a help, so that a terminal with 80 columns does not break it."""


@cache
def command_points() -> dict[str, EntryPoint]:
    """Return the entry points of the installed commands by name, in the order of the help."""
    points = sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    count = Counter(point.name for point in points)
    twice = [point for point in points if count[point.name] > 1]  # reading a distribution's name is slow
    ours = {point.name: point for point in twice if point.dist and point.dist.name == DISTRIBUTION}
    installed = {point.name: point for point in points} | ours
    members = [f"{group}.{name}" for group, names in MEMBERS.items() for name in names]
    order = {name: number for number, name in enumerate((*EVERYDAY, *ALSO, *members))}
    return {name: installed[name] for name in sorted(installed, key=lambda name: order.get(name, len(order)))}


class _Commands(Mapping[str, TyperCommand | TyperGroup]):
    """The commands of ``sgi`` or of a group, by name; a command is imported when it is looked up."""

    def __init__(self, group: str) -> None:
        self._prefix = f"{group}." if group else ""
        self._loaded: dict[str, TyperCommand | TyperGroup] = {}

    def __getitem__(self, name: str) -> TyperCommand | TyperGroup:
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        names = [name for name in command_points() if name.startswith(self._prefix)]
        inside = [name.removeprefix(self._prefix) for name in names]
        yield from (name for name in inside if "." not in name)
        if not self._prefix:
            yield from GROUPS

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _load(self, name: str) -> TyperCommand | TyperGroup:
        if not self._prefix and name in GROUPS:
            settings = _with_help_names({})
            return _MemberGroup(
                name=name, help=GROUPS[name], rich_help_panel="Groups", context_settings=settings
            )
        path = f"{self._prefix}{name}"
        command = _load(path, command_points()[path])
        if not self._prefix:
            command.hidden = name in ALSO
            command.rich_help_panel = _FROM_PACKAGES
        return command


class _LongCommand(TyperCommand):
    """A command with many options: its help shows the first ones, and ``--help-all`` shows all."""

    first: Sequence[str] = ()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: only the most important options, or all options on request."""
        command = _short(self, ctx)
        command.help = _join_paragraphs(command.help or "")
        super(_LongCommand, command).format_help(ctx, formatter)


class CommandGroup(TyperGroup):
    """The command ``sgi``: it imports a command when it is called, or when the help lists it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("MutableMapping[str, Any]", _Commands(""))  # nothing adds a command
        self.first = _show_first(self, ["version"])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with the main or all options, without importing the everyday commands."""
        short = _short(self, ctx)
        listed = {
            name: TyperCommand(name, help=text, rich_help_panel="Commands") for name, text in EVERYDAY.items()
        }
        short.commands = cast("MutableMapping[str, Any]", ChainMap(listed, self.commands))
        super(CommandGroup, short).format_help(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the called command; for a subcommand without its group, the error names the group."""
        group = next((group for group, names in MEMBERS.items() if args[0] in names), None)
        if group is not None and args[0] not in self.commands:
            raise UsageError(f"{args[0]!r} is a command of a group.", hint=f"Write: sgi {group} {args[0]}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands that the help lists, without importing any."""
        del ctx
        return [*EVERYDAY, *GROUPS, *(name for name in self.commands if name not in _OWN)]


class _MemberGroup(TyperGroup):
    """A group below ``sgi``. Without a command, ``sgi runs`` lists runs, and others print their help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, no_args_is_help=settings["name"] != "runs")
        self.commands = cast("MutableMapping[str, Any]", _Commands(settings["name"]))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the name of a command; options without a command are those of ``sgi runs list``."""
        is_list = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        return super().parse_args(ctx, ["list", *args] if self.name == "runs" and is_list else args)


_Command = TypeVar("_Command", "_LongCommand", "CommandGroup")


def _show_first(command: TyperCommand | TyperGroup, names: Sequence[str]) -> tuple[str, ...]:
    """Add ``--help-all`` to a command, and return the names of the options that its help shows."""
    command.params = [*command.params, *get_command(_help_all).params]
    return (*names, "help_all")


def _short(command: _Command, ctx: Any) -> _Command:
    """Return a copy of a command for its help: with its first options only, unless all are requested."""
    short = copy(command)
    if not command.first or _ALL_OPTIONS in ctx.meta:
        return short
    order = {name: number for number, name in enumerate(command.first)}
    options = [each for each in command.params if isinstance(each, TyperOption) and not each.hidden]
    shown = sorted((each for each in options if each.name in order), key=lambda each: order[each.name or ""])
    short.params = [each for each in command.params if each not in options]
    for each in shown:
        option = copy(each)
        option.rich_help_panel = None
        short.params.append(option)
    short.help = _with_few_examples(command.help or "")
    more = f"{len(options) - len(shown)} more options: {ctx.command_path} --help-all"
    short.epilog = f"{command.epilog} {more}" if command.epilog else more
    return short


def _with_few_examples(text: str) -> str:
    """Return a help text with its first examples."""
    before, title, examples = text.partition("Examples:\n")
    return before + title + "\n".join(examples.splitlines()[:_SHORT_EXAMPLES])


def _join_paragraphs(text: str) -> str:
    r"""Return a help text with one line for each paragraph, which the terminal wraps, and short examples.

    >>> print(_join_paragraphs("One\nparagraph.\n\nExamples:\n  sgi run a.csv"))
    One paragraph.
    <BLANKLINE>
    Examples:
      sgi run a.csv
    """
    paragraphs = [
        "\n".join(map(_break_command, lines))
        if any(line.startswith(" ") for line in lines)
        else " ".join(lines)
        for lines in map(str.splitlines, text.split("\n\n"))
    ]
    return "\n\n".join(paragraphs)


def _break_command(command: str) -> str:
    """Break a long command before an option."""
    lines: list[str] = []
    for part in re.split(r" (?=-)", command):
        if lines and len(f"{lines[-1]} {part} \\") <= _WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return " \\\n      ".join(lines)


def _print_all(context: typer.Context, requested: bool) -> None:
    if requested:
        context.meta[_ALL_OPTIONS] = True
        typer.echo(context.get_help(), color=context.color)
        raise typer.Exit


_help_all = typer.Typer(add_completion=False)


@_help_all.command()
def _show_all(
    help_all: Annotated[
        bool,
        typer.Option(
            "--help-all",
            help="Show all options.",
            is_eager=True,
            expose_value=False,
            callback=_print_all,
        ),
    ] = False,
) -> None:
    """Has the option that is added to long commands."""


def cluster_function(name: str) -> Callable[..., Any]:
    """Load a function of the package sgi_cluster: ``run`` or ``import``."""
    found = entry_points(group=_CLUSTER_FUNCTIONS, name=name)
    if not found:
        raise UsageError("The package sgi_cluster is not installed.", hint=f"Install {DISTRIBUTION} again.")
    return cast("Callable[..., Any]", next(iter(found)).load())


def _with_help_names(settings: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return the settings with the names of the help option, which a command keeps from its first context."""
    return {**settings, "help_option_names": HELP_NAMES}


def _load(path: str, point: EntryPoint) -> TyperCommand | TyperGroup:
    name = path.rpartition(".")[2]
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The command {name!r} cannot be loaded from {point.value!r}: {error}.") from error
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        found.command(name, cls=_LongCommand)(function)
    command = cast("TyperCommand | TyperGroup", get_command(found))
    command.name = name
    for each in (command, *getattr(command, "commands", {}).values()):
        each.context_settings = _with_help_names(each.context_settings)
    if path in FIRST_OPTIONS and isinstance(command, _LongCommand):
        command.first = _show_first(command, FIRST_OPTIONS[path].split())
    return command
