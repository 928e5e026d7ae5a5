"""Pages of the commands: usage, options with their defaults, and examples."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from typing import TYPE_CHECKING, Any

import typer
from reference_pages.data import ENVIRONMENT, exit_codes
from reference_pages.json_output import json_link
from reference_pages.markdown import block, code, page, table, text

from sgi.cli.commands import ALSO, EVERYDAY, GROUPS
from sgi.cli.main import app

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXTRAS = re.compile(r"(?P<help>.*?)(?:\s*\[(?P<extras>(?:[a-z]+: |required|[\dx]+\s*[<>]).*)\])?", re.DOTALL)
_WORDS = re.compile(r"(?<![\w`\"'-])(--[a-z][a-z-]*|SGI_[A-Z_]+)(?![\w`])")
"""Options and variables in a description."""
_TYPES = {
    "<list[str]>": "<text>",
    "<str>": "<text>",
    "<int range>": "<number>",
    "<float range>": "<number>",
    "<float>": "<number>",
}
_READERS = re.compile(r"sgi [a-z-]+|--[a-z-]+")
_READS_DATA = "reads data"
_PHRASES = {
    "embed texts": "--embedder",
    "ask a judge": "--judge",
    "all commands that read data": _READS_DATA,
    "the name of a benchmark": _READS_DATA,
}
"""A sign of the commands that an environment variable describes in words."""
_SIGNALS = 128
"""Exit codes from here on mean a signal; every command has them."""
_EXAMPLES = re.compile(r"^Examples?:\n", re.MULTILINE)


def command_pages() -> dict[str, str]:
    """Return the page of each command and their index, by path."""
    commands = {" ".join(path): command for path, command in _commands(typer.main.get_command(app), ())}
    pages = {f"commands/{_file(name)}": _page(name, command) for name, command in commands.items()}
    return pages | {"commands/index.md": _index(commands)}


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """List a command and its subcommands; a group without options of its own has no page."""
    path = (*path, command.name)
    subcommands = [each for each in getattr(command, "commands", {}).values() if not each.hidden]
    if not subcommands or len(path) == 1:
        yield path, command
    for each in subcommands:
        yield from _commands(each, path)


def _file(name: str) -> str:
    return f"{name.replace(' ', '-')}.md"


def _index(commands: dict[str, Any]) -> str:
    parts = [f"* [Options of all commands: `sgi`]({_file('sgi')})"]
    sections = {"Commands": (*EVERYDAY, *ALSO)} | {f"sgi {name}": (name,) for name in GROUPS}
    for title, first in sections.items():
        parts.append(f"## {title}")
        names = [name for name in commands if " " in name and name.split()[1] in first]
        parts.append(
            "\n".join(f"* [`{name}`]({_file(name)}) {_text(_summary(commands[name]))}" for name in names)
        )
    parts.append("See also [exit codes](../exit-codes.md) and [settings in TOML files](../settings.md).")
    return page("Commands", "Every command, with all options, defaults and examples.", *parts)


def _summary(command: Any) -> str:
    return (command.help or "").partition("\n\n")[0].replace("\n", " ")


def _page(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=name)
    description, *examples = _EXAMPLES.split(command.help or "", maxsplit=1)
    usage = command.get_usage(context).removeprefix("Usage: ")
    return page(
        f"`{name}`",
        _text(description.strip()),
        block(" ".join(usage.split()), "text"),
        *_parameters(command, context),
        _exit_codes(command),
        _variables(name, command),
        *(f"## Examples\n\n{block(_console(each), 'console')}" for each in examples),
    )


def _console(examples: str) -> str:
    lines = [line.removeprefix("  ") for line in examples.rstrip().splitlines() if line.strip()]
    return "\n".join(f"$ {line}" if line.startswith("sgi") else line for line in lines)


def _exit_codes(command: Any) -> str:
    """Return a line with the exit codes: success, an error, and those of the command's module."""
    module = sys.modules[command.callback.__module__]
    codes = {0, 2}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "typer.Exit" and node.args:
            (value,) = node.args
            codes.add(value.value if isinstance(value, ast.Constant) else getattr(module, ast.unparse(value)))
    meanings = exit_codes()
    words = ", ".join(f"{number} {meanings[number]}" for number in sorted(codes) if number < _SIGNALS)
    return f"**Exit codes:** {words} ([all](../exit-codes.md))."


def _variables(name: str, command: Any) -> str:
    """Return a line with the environment variables whose readers name this command or one of its options."""
    own = {" ".join(name.split()[:2]), *(option for each in command.params for option in each.opts)}
    data = [each.help or "" for each in command.params if each.name == "data"]
    own |= {_READS_DATA for words in data if not words.startswith("Name of the data")}
    names = []
    for variable, facts in ENVIRONMENT["variables"].items():
        words = {word for phrase, word in _PHRASES.items() if phrase in facts["readers"]}
        if own & (words | {*_READERS.findall(facts["readers"])}):
            names.append(code(variable))
    link = "[what each does](../environment-variables.md)"
    return f"**Environment variables:** {', '.join(names)} ({link})." if names else ""


def _parameters(command: Any, context: Any) -> Iterator[str]:
    """Return a table of the arguments, and one for each group of options."""
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:  # hidden
            continue
        argument = parameter.param_type_name == "argument"
        group = "Arguments" if argument else getattr(parameter, "rich_help_panel", None) or "Options"
        row = _row(*record)
        if "--json" in parameter.opts:
            row = (row[0], row[1] + json_link(context.info_name), row[2])
        groups.setdefault(group, []).append(row)
    ordered = sorted(groups, key=lambda group: (group != "Arguments", group != "Options"))
    for group in ordered:
        yield f"## {group}\n\n{table(['name', 'meaning', 'default and limits'], groups[group])}"


def _row(names: str, words: str) -> tuple[str, str, str]:
    match = _EXTRAS.fullmatch(words)
    assert match is not None
    extras = (match["extras"] or "").replace("default: ", "")
    for python, plain in _TYPES.items():
        names = names.replace(python, plain)
    return code(names), _text(match["help"]), _text(extras)


def _text(words: str) -> str:
    """Return a description as Markdown, with options and variables as code."""
    return text(_WORDS.sub(r"`\1`", words))
