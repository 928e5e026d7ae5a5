"""Pages of the commands: usage, options with their defaults, exit codes and examples."""

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

from sgi.cli.commands import ALSO, EVERYDAY, GROUPS, HELP_NAMES, MEMBERS
from sgi.cli.main import app

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
_READERS = re.compile(r"(?<=`)sgi [a-z -]+(?=`)|--[a-z-]+")
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
_HEAD = (
    "The commands for every day come first. [sgi runs](commands-runs.md), [sgi judge](commands-judge.md) and "
    "[sgi study](commands-study.md) have pages of their own."
)
_EXAMPLES = re.compile(r"^Examples?:\n", re.MULTILINE)


def command_pages() -> dict[str, str]:
    """Return the page of the commands, and one for each group of several, by path."""
    root = typer.main.get_command(app)
    top = dict(getattr(root, "commands", {}))
    own = {*EVERYDAY, *ALSO, *GROUPS}
    small = [name for name in GROUPS if len(MEMBERS[name]) == 1]
    plugins = [name for name, command in top.items() if name not in own and not command.hidden]
    shown = [("sgi", root), *(_under(("sgi",), top[name]) for name in (*EVERYDAY, *ALSO, *small, *plugins))]
    pages = {"commands.md": _page("Commands", _HEAD, shown)}
    for name, words in ((name, words) for name, words in GROUPS.items() if name not in small):
        pages[f"commands-{name}.md"] = _page(f"Commands: sgi {name}", words, [_under(("sgi",), top[name])])
    return pages


def _under(path: tuple[str, ...], command: Any) -> tuple[str, Any]:
    return " ".join((*path, command.name)), command


def _page(title: str, words: str, commands: Iterable[tuple[str, Any]]) -> str:
    sections = [section for name, command in commands for section in _sections(name, command)]
    return page(title, words, *sections)


def _sections(name: str, command: Any) -> Iterator[str]:
    """List the section of a command and those of its subcommands."""
    subcommands = getattr(command, "commands", {}).values() if name != "sgi" else ()
    if not subcommands or command.invoke_without_command:
        yield _section(name, command)
    for each in subcommands:
        if not each.hidden:
            yield from _sections(f"{name} {each.name}", each)


def _section(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=name, help_option_names=HELP_NAMES)
    description, *examples = _EXAMPLES.split(command.help or "", maxsplit=1)
    usage = command.get_usage(context).removeprefix("Usage: ")
    parts = [
        f"## `{name}`",
        _text(description.strip()),
        block(" ".join(usage.split()), "text"),
        *(block(_console(each), "console") for each in examples),
        *_parameters(command, context),
        _exit_codes(command),
        _variables(name, command),
    ]
    return "\n\n".join(part for part in parts if part)


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
    return f"**Exit codes:** {words} ([all](environment.md#exit-codes))."


def _variables(name: str, command: Any) -> str:
    """Return a line with the environment variables whose readers name this command or one of its options."""
    own = {name, *(option for each in command.params for option in each.opts)}
    data = [each.help or "" for each in command.params if each.name == "data"]
    own |= {_READS_DATA for words in data if not words.startswith("Name of the data")}
    names = []
    for variable, facts in ENVIRONMENT["variables"].items():
        words = {word for phrase, word in _PHRASES.items() if phrase in facts["readers"]}
        if own & (words | {*_READERS.findall(facts["readers"])}):
            names.append(code(variable))
    link = "[what each does](environment.md)"
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
        yield f"**{group}:**\n\n{table(['name', 'meaning', 'default and limits'], groups[group])}"


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
