"""Write docs/internals/licences.md: the licence of every package that SGI can install.

    python scripts/make_licences_page.py [SITE_PACKAGES]

SITE_PACKAGES is the directory of a second environment, for extras that are not installed in this one. The
script fails if an extra is not installed, or if a licence is missing or not allowed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT, PAGE = ROOT / "pyproject.toml", ROOT / "docs" / "internals" / "licences.md"
ALLOWED = {
    *(
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "CNRI-Python",
        "HPND",
        "ISC",
        "MIT",
        "MIT-0",
    ),
    *("MIT-CMU", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib"),
    *("Apache-2.0 WITH LLVM-exception", "BSL-1.0"),  # parts of torch
    "MPL-2.0",  # covers only its own files
    "LGPL-3.0-only",  # psycopg: users can replace the library; GPL and AGPL stay excluded
}
FRAMEWORKS = {
    *("dspy", "haystack", "huggingface", "inspect-ai", "langchain", "langfuse", "langsmith", "llama-index"),
    *("mcp", "mlflow", "phoenix", "phoenix-client", "pydantic-evals", "weave"),
}
"""Extras that name the framework of an adapter: its users have it already, and accepted its licence."""

TITLES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""SPDX names of the licence names in older metadata."""


class Environment:
    """Installed packages of this environment and of other folders."""

    def __init__(self, folders: list[str]) -> None:
        packages = distributions(path=folders) if folders else ()
        self.others = {canonicalize_name(package.name): package for package in packages}

    def find(self, name: str) -> Distribution | None:
        try:
            return distribution(name)
        except PackageNotFoundError:
            return self.others.get(canonicalize_name(name))


def direct_dependencies() -> dict[str, list[Requirement]]:
    """Return what each extra requires, without those of frameworks; the base has an empty name."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    return {
        extra: [Requirement(text) for text in texts]
        for extra, texts in extras.items()
        if extra not in FRAMEWORKS
    }


def dependencies(environment: Environment) -> dict[str, set[str]]:
    """Return the installed packages that SGI needs, with the extras that need them; none for the base."""
    needed_by: dict[str, set[str]] = {}
    for extra, direct in direct_dependencies().items():
        queue = [*direct]

        visited: set[tuple[str, frozenset[str]]] = set()
        while queue:
            requirement = queue.pop()
            key = canonicalize_name(requirement.name), frozenset(requirement.extras)
            package = environment.find(requirement.name)
            if package is None or key in visited:
                continue
            visited.add(key)
            needed_by.setdefault(key[0], set()).add(extra)
            for text in package.requires or ():
                child = Requirement(text)
                if child.marker is None or any(
                    child.marker.evaluate({"extra": name}) for name in requirement.extras | {""}
                ):
                    queue.append(child)
    return {name: set() if "" in extras else extras for name, extras in needed_by.items()}


def licence(package: Distribution) -> str:
    """Return the licence as an SPDX expression if it is known, otherwise as in the metadata, or blank."""
    data = package.metadata
    if data["License-Expression"]:
        return str(data["License-Expression"])
    lines = (data["License"] or "").strip().splitlines()
    classifiers = [
        text.rpartition(" :: ")[2] for text in data.get_all("Classifier") or () if text.startswith("License")
    ]
    titles = [TITLES.get(name, name) for name in classifiers if name != "OSI Approved"]
    title = TITLES.get(lines[0], lines[0]) if lines else ""
    if title and (is_allowed(title) or not titles):
        return title
    return " AND ".join(titles)


def is_allowed(expression: str) -> bool:
    """Return whether every part of a licence, or one of its alternatives, is allowed."""
    parts = re.split(r"\s+AND\s+", expression.replace("(", "").replace(")", ""))
    return all(any(name in ALLOWED for name in re.split(r"\s+OR\s+", part)) for part in parts)


def rows(environment: Environment) -> list[tuple[str, str, str]]:
    """Return name, licence and extras of every package, sorted by name."""
    packages = []
    for name, extras in sorted(dependencies(environment).items()):
        package = environment.find(name)
        assert package is not None
        packages.append((name, licence(package), ", ".join(sorted(extras)) or "always"))
    return packages


def page(packages: list[tuple[str, str, str]]) -> str:
    """Return the page in Markdown."""
    table = "".join(f"| {name} | {text} | {extras} |\n" for name, text, extras in packages)
    allowed = ", ".join(sorted(ALLOWED))
    frameworks = ", ".join(sorted(FRAMEWORKS))
    return f"""# Licences of dependencies

The licences of all packages that SGI and its extras install, from their metadata.
`python scripts/make_licences_page.py` writes this page, and fails on any licence except these: {allowed}.

The build of torch for NVIDIA GPUs also installs NVIDIA's libraries, under NVIDIA's own licence.

The extras of adapters name the framework that you use already, so they are not listed here: {frameworks}.
The packages of Phoenix have the Elastic License 2.0.

| package | licence | installed with |
|---|---|---|
{table}"""


def main() -> None:
    """Check the licences, and write the page."""
    environment = Environment(sys.argv[1:])
    direct = [each.name for extra in direct_dependencies().values() for each in extra]
    if absent := [name for name in direct if environment.find(name) is None]:
        sys.exit(f"Not installed: {', '.join(absent)}. Name the SITE_PACKAGES that have them.")
    packages = rows(environment)
    errors = [f"{name}: {text or 'no licence'}" for name, text, _ in packages if not is_allowed(text)]
    if errors:
        sys.exit("Not allowed:\n" + "\n".join(errors))
    PAGE.write_text(page(packages), encoding="utf-8")


if __name__ == "__main__":
    main()
