"""``sgi doctor``: is everything in place?"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import typer

from sgi.cli.options import JsonOption
from sgi.kernel.install_hint import install_target

_EXTRAS = {
    "http": "httpx2",
    "hub": "huggingface_hub",
    "judge": "pydantic_ai",
    "openai": "openai",
    "openvino": "openvino",
    "pandas": "pandas",
    "parquet": "pyarrow",
    "polars": "polars",
    "postgres": "psycopg",
    "ray": "ray",
    "torch": "sentence_transformers",
    "web": "fastapi",
}


@dataclass(frozen=True)
class Check:
    """One thing looked at.

    Attributes:
        name: what.
        ok: whether it is in place.
        found: what was found.
        required: whether the offline core needs it.
    """

    name: str
    ok: bool
    found: str
    required: bool = True


def doctor(as_json: JsonOption = False) -> None:
    """Look at Python, the libraries, the embedded model, the cache and the extras.

    Needs no network. Exits with 2 if something that is always needed is not in place.

    Examples:

      sgi doctor

      sgi doctor --json
    """
    from sgi.cli.console import plain, print_json

    checks = [
        Check("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        *(_library(name) for name in ("numpy", "onnxruntime", "tokenizers")),
        _tried("embedded model", _embed_something),
        _tried("vector cache", _look_into_cache),
        *(_extra(name, module) for name, module in _EXTRAS.items()),
        _processor(),
    ]
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        for check in checks:
            mark = "ok " if check.ok else "–  " if not check.required else "BAD"
            typer.echo(plain(f"{mark} {check.name:<15} {check.found}"))
    if not all(check.ok for check in checks if check.required):
        raise typer.Exit(2)


def _library(name: str) -> Check:
    try:
        return Check(name, True, version(name))
    except PackageNotFoundError:
        return Check(name, False, "not installed")


def _extra(name: str, module: str) -> Check:
    found = find_spec(module) is not None
    line = "installed" if found else f"pip install {install_target(name)}"
    return Check(f"extra {name}", found, line, required=False)


def _tried(name: str, look: Callable[[], str]) -> Check:
    from sgi.kernel.errors import SgiError

    try:
        return Check(name, True, look())
    except SgiError as error:
        return Check(name, False, str(error))


def _processor() -> Check:
    """In which precisions models can be run here."""
    from sgi.kernel.errors import SgiError
    from sgi.models.embedder.openvino import processor

    try:
        found = processor()
    except SgiError:
        return Check("precision", True, "f32 (which else, OpenVINO tells)", required=False)
    able = ("f32", *(name for name in ("bf16", "int8") if getattr(found, name)))
    return Check("precision", True, f"{', '.join(able)} on {found.name}", required=False)


def _embed_something() -> str:
    from sgi.models.embedder.load import load_embedder

    embedder = load_embedder("minilm")
    cat, kitten, law = embedder.embed(["A cat.", "A kitten.", "The law of contracts."])
    if not cat @ kitten > cat @ law:
        from sgi.kernel.errors import ModelCorruptError

        raise ModelCorruptError("The embedded model finds a cat nearer the law of contracts than a kitten.")
    return embedder.fingerprint


def _look_into_cache() -> str:
    from sgi.store.cache import SqliteCache, default_cache_path

    with SqliteCache(default_cache_path()) as cache:
        found = cache.stats()
    return f"{found.entries:,} vectors in {found.path}"
