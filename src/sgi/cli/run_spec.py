"""The settings of ``sgi run``: those of a TOML file or a stored run, overridden by the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.cli.option_values import select_embedders, with_entailment
from sgi.cli.run_output import database_option
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.engine.spec import RunSpec
    from sgi.store.run_queries import RunRecord

_NOT_REPEATED = {"out", "name", "rejects", "inputs"}
"""Settings of a finished run that are not used again."""


def run_spec(
    options: Mapping[str, Any],
    record: RunRecord | None = None,
    *,
    trusted: bool = False,
    database: str | None = None,
) -> RunSpec:
    """Return the settings of a run: stored ones or those of a TOML file, overridden by the command line.

    Args:
        options: settings of the command line.
        record: the run to resume; None for a new run.
        trusted: whether the stored settings of the run are trusted; see `sgi.engine.stored_spec`.
        database: where the run is stored, as the user named it.

    Raises:
        UsageError: a value is invalid, or the user must name some of the stored settings again.
    """
    from sgi.engine.spec import RunSpec, read_spec
    from sgi.metrics.definitions import Definitions

    overrides, file, source = dict(options), dict[str, Any](), "the command line"
    data = options.get("data")
    if data is not None and data.suffix.casefold() == ".toml":
        del overrides["data"]
        file, source = read_spec(data), str(data)
    elif data is None and record is None:
        raise UsageError("DATA is required.", hint="Name a file, a .toml file, or --resume last.")
    stored_values = {}
    if record is not None:
        stored_values = _stored_settings(record, _over(file, overrides), trusted=trusted, database=database)
    values = _over({**stored_values, **file}, overrides)
    if "target" in overrides and "where" not in values["target"]:
        raise UsageError("--target-set needs --target.", hint="Write --target app:answer.")
    if "judge" in overrides and "model" not in values["judge"]:
        raise UsageError("The options of the judge need --judge.", hint="Write --judge openai:NAME.")
    nli, band = values.pop("nli", None), values.pop("nli_band", None)
    if nli is not None or band is not None:
        metrics = values.get("metrics") or []
        defined = Definitions.of(values.get("define")).metrics
        named = [metrics] if isinstance(metrics, str) else metrics
        values["metrics"] = with_entailment(named, nli, defined, band)
    spec = _with_embedder(RunSpec.of(values, source=source), new=record is None)
    if spec.on_error == "skip" and spec.rejects is None:
        path = spec.out or _file_of(spec.data)
        spec = spec.model_copy(update={"rejects": path.with_name(f"{path.stem}.rejected.jsonl")})
    return spec


def code_folder(options: Mapping[str, Any], *, trusted: bool) -> Path | None:
    """Return the only folder whose code may run as a target; None if the user named or trusts the target."""
    return None if trusted or "where" in (options.get("target") or {}) else Path.cwd()


def _stored_settings(
    record: RunRecord, user_settings: Mapping[str, Any], *, trusted: bool, database: str | None
) -> dict[str, Any]:
    """Return the stored settings of a run; raise an error if the user must name some of them again."""
    from sgi.engine.stored_spec import require_named, stored_spec

    left_out = _NOT_REPEATED if record.finished else {"name"}
    spec = stored_spec(record, without=left_out)
    if not trusted:
        command = f"sgi run --resume {record.id}{database_option(database)}"
        require_named(spec, user_settings, run=record.label, command=command)
    return {key: value for key, value in record.spec.items() if key not in left_out}


def _over(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Override settings; those of a target or a judge one by one."""
    over = {**values, **overrides}
    for key in {"target", "judge"}.intersection(overrides):
        below = values.get(key)
        below = {"model": below} if isinstance(below, str) else below
        over[key] = {**(below if isinstance(below, dict) else {}), **overrides[key]}
    return over


def _with_embedder(spec: RunSpec, *, new: bool) -> RunSpec:
    """Set the embedders of a new run, so that it is resumed with the same model."""
    if not new:
        return spec
    named = spec.named_metrics
    metrics = None if named is None else [*named, *spec.extra_metrics]
    return spec.model_copy(update={"embedders": tuple(select_embedders(spec.embedders, metrics))})


def _file_of(data: Path) -> Path:
    """Return the file of the data, or the name of a benchmark that has no file."""
    from sgi.io.readers import parse_name

    location = parse_name(data)
    return data if location is None else location.path or Path(location.reader.name)
