"""Sets the entailment model of the metrics that can use one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.kernel.entailment_profile import entailment_profiles
from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric
from sgi.models.model_location import existing_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.kernel.metric import AnyMetric


def with_entailment(
    metrics: Sequence[str],
    nli: str | None,
    defined: Mapping[str, AnyMetric] | None = None,
    band: str | None = None,
) -> list[str]:
    """Set the entailment model of every metric with the parameter ``nli``; a folder becomes an absolute path.

    A metric that already has a model keeps it. ``band`` is for the metrics that get the model.

    Raises:
        UsageError: no metric has this parameter, or each one has another entailment model; there is a band
            without a model, or it is not one.

    >>> with_entailment(["sgi", "grounding"], "owner/model")
    ['sgi', 'grounding(nli="owner/model")']
    """
    if nli is None:
        if band is not None:
            raise UsageError("--nli-band needs --nli.", hint="Name the entailment model: --nli NAME.")
        return [*metrics]
    if not nli.strip():
        raise UsageError("--nli is empty.", hint="Give a folder, or a model of the hub: owner/model.")
    model = absolute_model(nli)
    items: list[Any] = [metric(text, defined or {}) for text in metrics]
    readers = [item for item in items if hasattr(item, "nli")]
    if not readers:
        hint = "Add -m grounding, or -m citation_recall."
        raise UsageError("--nli needs a metric with an entailment model.", hint=hint)
    if all(item.nli not in {"", model} for item in readers):
        hint = f"Leave out --nli, or use {readers[0].spec.name} without a model."
        raise UsageError(f"{readers[0].canonical} already has an entailment model.", hint=hint)
    with_model = [replace(item, nli=model) if item in readers and not item.nli else item for item in items]
    if band is not None:
        with_model = [_with_band(item, band) if item not in items else item for item in with_model]
    return [item.canonical for item in with_model]


def _with_band(item: Any, band: str) -> Any:
    try:
        return replace(item, nli_band=band) if hasattr(item, "nli_band") else item
    except ValueError as error:
        raise UsageError(f"--nli-band: {error}.", hint="For example --nli-band 0.2:0.9.") from error


def absolute_model(nli: str) -> str:
    """Return the name of the model; a folder or a profile file becomes an absolute path."""
    torch = "torch:" if nli.startswith("torch:") else ""
    name, bracket, labels = nli.removeprefix(torch).partition("(labels=")
    if name.endswith(".toml"):
        return f"{torch}{Path(name).expanduser().absolute()}{bracket}{labels}"
    folder = None if name in entailment_profiles() else existing_folder(name)
    return f"{torch}{name if folder is None else folder.absolute()}{bracket}{labels}"
