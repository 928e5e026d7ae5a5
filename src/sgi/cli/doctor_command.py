"""``sgi doctor``: checks the installation."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Annotated

import typer

from sgi.cli import options
from sgi.cli.console import print_json, print_lines, styled
from sgi.kernel.errors import ModelCorruptError, SgiError, install_target
from sgi.reporting.terminal_style import style_of

_EXTRAS = {
    "excel": "python_calamine",
    "http": "httpx2",
    "hub": "huggingface_hub",
    "json-schema": "jsonschema_rs",
    "judge": "pydantic_ai",
    "models": "tokenizers",
    "openai": "openai",
    "otlp": "opentelemetry.proto",
    "pandas": "pandas",
    "parquet": "pyarrow",
    "patterns": "re2",
    "polars": "polars",
    "postgres": "psycopg",
    "ray": "ray",
    "torch": "sentence_transformers",
    "web": "fastapi",
}


@dataclass(frozen=True)
class Check:
    """Result of one check.

    Attributes:
        name: what was checked.
        ok: whether it works.
        found: version, path or problem.
        required: whether SGI needs it offline.
    """

    name: str
    ok: bool
    found: str
    required: bool = True


Nli = Annotated[
    str | None,
    options.model_option(
        "--nli",
        help="Check this entailment model instead: a profile, a profile file, a folder or owner/model. The "
        "model must be on this machine; `sgi study models fetch NAME` downloads it.",
        autocompletion=options.complete_entailment,
    ),
]


def doctor(nli: Nli = None, as_json: options.Json = False) -> None:
    """Check Python, the libraries, the bundled model, the cache and the extras.

    With --nli, open an entailment model and measure it on rows of the bundled sample: milliseconds for a
    pair, pairs for a row, rows in a second, and memory.

    Needs no network. Exits with 2 if something required does not work.

    Examples:
      sgi doctor
      sgi doctor --json
      sgi doctor --nli nli-deberta-v3-xsmall
    """
    if nli is not None:
        _measure(nli, as_json=as_json)
        return
    checks = [
        Check("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        *(_library(name) for name in ("numpy", "onnxruntime")),
        _attempt("embedded model", _check_bundled_model),
        _attempt("vector cache", _check_cache),
        *(_extra(name, module) for name, module in _EXTRAS.items()),
    ]
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        for check in checks:
            mark, style = (
                ("ok ", "good") if check.ok else ("BAD", "bad") if check.required else ("–  ", "faint")
            )
            print_lines([styled((mark, style_of(style)), f" {check.name:<15} {check.found}")])
    if not all(check.ok for check in checks if check.required):
        raise typer.Exit(2)


def _measure(nli: str, *, as_json: bool) -> None:
    """Print what an entailment model costs; an error says what is wrong with it."""
    from sgi.engine.entailment_cost import measure_entailment
    from sgi.engine.named_metrics import absolute_model

    cost = measure_entailment(absolute_model(nli))
    if as_json:
        print_json(asdict(cost))
    else:
        print_lines(cost.lines())


def _library(name: str) -> Check:
    try:
        return Check(name, True, version(name))
    except PackageNotFoundError:
        return Check(name, False, "not installed")


def _extra(name: str, module: str) -> Check:
    installed = False
    with suppress(ModuleNotFoundError):  # the package that should contain the module
        installed = find_spec(module) is not None
    line = "installed" if installed else f"pip install {install_target(name)}"
    return Check(f"extra {name}", installed, line, required=False)


def _attempt(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except SgiError as error:
        return Check(name, False, str(error))


def _check_bundled_model() -> str:
    from sgi.models.embedder.load_embedder import load_embedder

    embedder = load_embedder("minilm")
    cat, kitten, law = embedder.embed(["A cat.", "A kitten.", "The law of contracts."])
    if not cat @ kitten > cat @ law:
        raise ModelCorruptError("The bundled model finds 'A cat.' more similar to a law than to 'A kitten.'")
    return embedder.fingerprint


def _check_cache() -> str:
    from sgi.store.cache import SqliteCache, default_cache_path

    with SqliteCache(default_cache_path()) as cache:
        size = cache.stats()
    return f"{size.entries:,} vectors in {size.path}"
