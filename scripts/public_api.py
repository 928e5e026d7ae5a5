"""List the public Python names with their parameters, and find breaking changes.

    python scripts/public_api.py                     # write docs/public-api.json
    python scripts/public_api.py --against v0.1.0    # fail on breaking changes of this file since a tag
    python scripts/public_api.py --against last      # the same since the last tag that is an ancestor

The public names are those of `__all__` in the modules below (docs/internals/versions.md).
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import subprocess
import tomllib
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "public-api.json"
MODULES = (
    "sgi",
    "sgi.api",
    "sgi.errors",
    "sgi.types",
    "sgi.geometry",
    "sgi.metrics",
    "sgi.openai_embedder",
    "sgi.testing",
    "sgi_lab.card",
)
EXTRA = {"sgi.core": ["sgi"]}
"""Public names of modules without `__all__`."""
_ORDERED = {"positional-only", "positional or keyword"}

Entry = dict[str, Any]


def public_objects() -> dict[str, Any]:
    """Return the public objects by name; subpackages have names of their own."""
    found = {}
    for module_name in (*MODULES, *EXTRA):
        module = import_module(module_name)
        for name in sorted(EXTRA.get(module_name) or module.__all__):
            value = getattr(module, name)
            if not inspect.ismodule(value):
                found[f"{module_name}.{name}"] = value
    return found


def describe(value: Any, public: frozenset[type] = frozenset()) -> Entry:
    """Return the kind of an object, its parameters, and the members that no public base has."""
    if inspect.isclass(value):
        return {"kind": "class", "parameters": _parameters(value), "members": _members(value, public)}
    if inspect.isroutine(value):
        return {"kind": "function", "parameters": _parameters(value)}
    return {"kind": "attribute"}


def _parameters(value: Any) -> list[list[str | None]]:
    if inspect.isclass(value) and issubclass(value, Enum):
        return []  # its constructor is that of Python
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:  # a class without a constructor of its own, such as a warning
        return []
    return [
        [each.name, str(each.kind.description), None if each.default is each.empty else _shown(each.default)]
        for each in parameters
        if each.name not in {"self", "cls"}
    ]


_LONGEST = 200
"""Maximum length of a default in the list, in characters."""


def _shown(default: Any) -> str:
    shown = re.sub(r" at 0x[0-9a-f]+", "", repr(default))
    return (
        shown if len(shown) <= _LONGEST else f"a {type(default).__name__}"
    )  # rows: their repr is not part of the API


def _members(value: type, public: frozenset[type]) -> dict[str, Entry]:
    members: dict[str, Entry] = {}
    for base in value.__mro__:
        if not base.__module__.startswith("sgi.") or (base in public and base is not value):
            continue
        for name in (*vars(base), *inspect.get_annotations(base)):
            if not name.startswith("_") and name not in members:
                raw = inspect.getattr_static(base, name, None)
                raw = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw
                members[name] = describe(raw) if inspect.isfunction(raw) else {"kind": "attribute"}
    return dict(sorted(members.items()))


def public_api() -> dict[str, Entry]:
    """Return the entries of all public names."""
    found = public_objects()
    public = frozenset(value for value in found.values() if inspect.isclass(value))
    return {name: describe(value, public) for name, value in found.items()}


def text(api: dict[str, Entry]) -> str:
    """Return the content of the file: a line for each name."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in api.items())
    return f"{{\n{lines}\n}}\n"


def breaking_changes(old: dict[str, Entry], new: dict[str, Entry], prefix: str = "") -> Iterator[str]:
    """Yield a line for each change that can break a program which uses the old names."""
    for name, before in old.items():
        after = new.get(name)
        if after is None:
            yield f"{prefix}{name} is gone"
        elif before["kind"] != after["kind"]:
            yield f"{prefix}{name} was a {before['kind']} and is a {after['kind']}"
        else:
            yield from _parameter_changes(f"{prefix}{name}", before, after)
            yield from breaking_changes(
                before.get("members", {}), after.get("members", {}), f"{prefix}{name}."
            )


def _parameter_changes(name: str, before: Entry, after: Entry) -> Iterator[str]:
    old, new = ({part[0]: part[1:] for part in entry.get("parameters", ())} for entry in (before, after))
    for parameter, (kind, default) in old.items():
        if parameter not in new:
            yield f"{name}: the parameter {parameter} is gone"
            continue
        if kind in _ORDERED and new[parameter][0] not in _ORDERED:
            yield f"{name}: the parameter {parameter} is {new[parameter][0]}"
        if new[parameter][1] != default and default is not None:
            yield f"{name}: the default of {parameter} was {default} and is {new[parameter][1]}"
    for parameter, (kind, default) in new.items():
        if parameter not in old and default is None and not kind.startswith("variadic"):
            yield f"{name}: the new parameter {parameter} has no default"
    places = [[part for part, (kind, _) in each.items() if kind in _ORDERED] for each in (old, new)]
    if places[1][: len(places[0])] != places[0] and set(places[0]) <= set(places[1]):
        yield f"{name}: the order of the parameters changed"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    return process.stdout.strip() if process.returncode == 0 else ""


def may_break(old: str, new: str) -> bool:
    """Return whether the numbers of two versions announce breaking changes."""
    before, after = ([int(part) for part in version.removeprefix("v").split(".")] for version in (old, new))
    return before[0] != after[0] or (before[0] == 0 and before[1] != after[1])


def check_since(tag: str) -> list[str]:
    """Return the breaking changes since a tag that the version number does not allow."""
    tag = _git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^") if tag == "last" else tag
    if not tag:
        print("No commit before this one has a tag v*: there is no release to compare with.")
        return []
    if not _git("rev-parse", "--verify", f"{tag}^{{commit}}"):
        raise SystemExit(f"There is no tag {tag}.")
    stored = _git("show", f"{tag}:docs/public-api.json")
    if not stored:
        print(f"{tag} has no list of public names: there is nothing to compare with.")
        return []
    changes = list(breaking_changes(json.loads(stored), json.loads(PAGE.read_text("utf-8"))))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if changes and may_break(tag, version):
        print(f"Version {version} may break programs for {tag}:", *changes, sep="\n")
        return []
    return changes


def main() -> None:
    """Write the list, or compare it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", metavar="TAG")
    tag = parser.parse_args().against
    if tag is None:
        PAGE.write_text(text(public_api()), "utf-8")
    elif changes := check_since(tag):
        raise SystemExit("Breaking changes:\n" + "\n".join(changes))


if __name__ == "__main__":
    main()
