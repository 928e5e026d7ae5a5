"""How to install this package again, with extras, from where it was installed."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

DISTRIBUTION = "semantic-grounding-index"


def install_target(*extras: str) -> str:
    """Return the arguments of ``pip install`` that install this package from the same source, with extras.

    A checkout is named by its path (``.`` in the checkout itself), another direct source by its URL, and a
    package of an index by its name. Source: PEP 610, ``direct_url.json``.

    >>> install_target("judge").endswith('[judge]"')
    True
    """
    extras_suffix = f"[{','.join(extras)}]" if extras else ""
    source = _direct_url()
    url = str(source.get("url", ""))
    if "dir_info" in source:
        from urllib.request import url2pathname

        folder = Path(url2pathname(urlsplit(url).path))
        if (folder / "pyproject.toml").is_file():
            editable = "-e " if source["dir_info"].get("editable") else ""
            name = "." if folder.resolve() == Path.cwd() else str(folder)
            return f'{editable}"{name}{extras_suffix}"'
    elif url:
        kind = source.get("vcs_info", {}).get("vcs")
        return f'"{DISTRIBUTION}{extras_suffix} @ {f"{kind}+" if kind else ""}{url}"'
    return f'"{DISTRIBUTION}{extras_suffix}"'


@cache
def _direct_url() -> dict[str, Any]:
    """Return the installer's record of the source; empty for a package from an index."""
    try:
        content = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    return dict(json.loads(content)) if content else {}
