"""The page of the error messages: what `sgi` raises, collected from its source, with the way out of each."""

from __future__ import annotations

import ast
import inspect
from collections import ChainMap
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reference_pages.markdown import code, page, table, text

from sgi.kernel import errors
from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SOURCE = Path(errors.__file__).parents[2]
_AREAS = {
    "Data and columns": ("sgi/io",),
    "Commands and settings": ("sgi/cli", "sgi/kernel"),
    "Runs": ("sgi/engine", "sgi/service", "sgi/reporting"),
    "Metrics": ("sgi/metrics", "sgi/geometry", "sgi/text", "sgi/testing"),
    "Compare, gate, labels and statistics": ("sgi/analysis", "sgi/stats"),
    "Judges": ("sgi/llm",),
    "Systems under test": ("sgi/target",),
    "Embedding and entailment models": ("sgi/models",),
    "Stored runs": ("sgi/store",),
    "Dashboard and HTTP API": ("sgi_web",),
    "Traces and exports of other tools": ("sgi_traces",),
    "Questions from documents": ("sgi_quiz",),
    "Frameworks": ("sgi/integrations",),
    "Studies and benchmarks": ("sgi_lab",),
    "Ray": ("sgi_cluster",),
}
_GAP = "…"
"""Stands for what a message takes from the data or the call."""
_MAX_VARIANTS = 4
_MIN_WORDS = 2
_RAISED_ONLY = {"ValueError", "TypeError"}
_HEAD = (
    f"Find the message that you have: `{_GAP}` stands for what differs, such as names and numbers. "
    "Below a message is what to do. The command line prints an error as one line and exits with 2 "
    "([exit codes](environment.md#exit-codes)); a message about a row begins with file, line and id. In "
    "Python, catch `sgi.errors.SgiError` for all classes but `ValueError` and `TypeError`."
)


class Message(NamedTuple):
    """A message, its hint, the class of the error, and the file that raises it."""

    text: str
    hint: str
    kind: str
    path: str


def errors_page() -> str:
    """Return the page of all messages by area, after the classes of errors."""
    messages = {each.text: each for each in _messages()}
    parts = []
    for title, folders in _AREAS.items():
        own = sorted(words for words, each in messages.items() if each.path.startswith(folders))
        sections = [f"### {_heading(words)}\n\n{_way_out(messages[words])}" for words in own]
        parts += [f"## {title}", *sections]
    rows = [
        (code(each.__name__), text((inspect.getdoc(each) or "").partition("\n")[0])) for each in _classes()
    ]
    classes = f"## Classes of errors\n\n{table(['class', 'when'], rows)}"
    return "---\ntocdepth: 2\n---\n\n" + page("Error messages", _HEAD, *parts, classes)


def _heading(words: str) -> str:
    return text(words.replace("`", "'").replace("[", "\\[").replace("_", "\\_"))


def _way_out(message: Message) -> str:
    return f"{text(message.hint)} ({code(message.kind)})" if message.hint else f"({code(message.kind)})"


def _classes() -> list[type[Exception]]:
    """Return the public classes of errors and warnings, base classes first."""
    return [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, Exception) and each.__module__ == errors.__name__
    ]


def _messages() -> list[Message]:
    """Return the messages of all errors that the packages of SGI make."""
    modules = {
        path: _scopes(ast.parse(path.read_text("utf-8"))) for path in sorted(_SOURCE.glob("sgi*/**/*.py"))
    }
    scopes = [scope for module in modules.values() for scope in module]
    kinds = _family(scopes)
    constants = {name: value for module in modules.values() for name, value in module[0].names.items()}
    helpers = {scope.name: place for scope in scopes for place in _message_place(scope, kinds)}
    raised = {id(node.exc) for scope in scopes for node in scope.nodes if isinstance(node, ast.Raise)}
    found = []
    for path, module in modules.items():
        for scope in module:
            names = ChainMap(scope.names, constants)
            for call in scope.calls:
                place, kind = helpers.get(_name(call.func), (0, _name(call.func)))
                if place < len(call.args) and (
                    kind in kinds or (kind in _RAISED_ONLY and id(call) in raised)
                ):
                    found += _of_call(path.relative_to(_SOURCE).as_posix(), kind, call, place, names)
    return found


@dataclass(frozen=True)
class _Scope:
    """A module, or a function without the functions inside, and its nodes."""

    name: str
    parameters: list[str]
    nodes: list[ast.AST]

    @cached_property
    def calls(self) -> list[ast.Call]:
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    @cached_property
    def names(self) -> dict[str, ast.expr]:
        """What the names stand for: the last value that is assigned to each."""
        return {
            node.targets[0].id: node.value
            for node in self.nodes
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }


def _scopes(tree: ast.Module) -> list[_Scope]:
    """Return the module, and then its functions."""
    scopes = [_Scope("", [], [])]
    waiting: list[tuple[_Scope, ast.AST]] = [(scopes[0], tree)]
    while waiting:
        scope, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            scope.nodes.append(child)
            inner = scope
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names = [each.arg for each in child.args.args if each.arg not in {"self", "cls"}]
                inner = _Scope(child.name, names, [])
                scopes.append(inner)
            waiting.append((inner, child))
    return scopes


def _family(scopes: Iterable[_Scope]) -> set[str]:
    """Return the names of the classes below `SgiError`."""
    family = {SgiError.__name__}
    classes = [node for scope in scopes for node in scope.nodes if isinstance(node, ast.ClassDef)]
    while added := {each.name for each in classes if family & {*map(_name, each.bases)}} - family:
        family |= added
    return family


def _message_place(scope: _Scope, kinds: set[str]) -> Iterator[tuple[int, str]]:
    """For a function that makes an error from a message: the position of that parameter, and the class."""
    for call in scope.calls:
        if call.args and _name(call.func) in kinds:
            used = {node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)}
            yield from (
                (place, _name(call.func)) for place, name in enumerate(scope.parameters) if name in used
            )


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _of_call(
    path: str, kind: str, call: ast.Call, place: int, names: Mapping[str, ast.expr]
) -> Iterator[Message]:
    hint = next((word.value for word in call.keywords if word.arg == "hint"), ast.Constant(""))
    way_out = _clean(_texts(hint, names)[0])
    for each in _texts(call.args[place], names):
        words, advice = each, way_out
        if kind == errors.UnknownNameError.__name__:
            words = f"Unknown {each} '{_GAP}'"
        elif kind == errors.MissingExtraError.__name__:
            extra = _texts(call.args[-1], names)[0]
            words, advice = f"{each} needs the extra '{extra}'", f"Install it: pip install sgi[{extra}]"
        if sum(part.isalpha() for part in words.split()) + bool(advice) >= _MIN_WORDS:
            yield Message(_clean(words), advice, kind, path)


def _texts(node: ast.expr, names: Mapping[str, ast.expr], depth: int = 0) -> list[str]:
    """Return the texts that an expression can have; a gap stands for what only a call decides."""
    if depth > _MAX_VARIANTS:
        return [_GAP]
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else [_GAP]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, names, depth + 1), *_texts(node.orelse, names, depth + 1)][:_MAX_VARIANTS]
    if isinstance(node, ast.Name) and node.id in names:
        return _texts(names[node.id], names, depth + 1)
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    if not parts:
        return [_GAP]
    variants = product(*(_texts(part, names, depth + 1) for part in parts))
    return ["".join(each) for each in islice(variants, _MAX_VARIANTS)]


def _clean(words: str) -> str:
    while _GAP * 2 in words:
        words = words.replace(_GAP * 2, _GAP)
    return " ".join(words.split())
