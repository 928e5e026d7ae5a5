"""Commands with the options of a run: their flags, and the `RunOptions` that they give."""

from __future__ import annotations

import inspect
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sgi.cli.option_values import (
    cache_choice,
    column_map,
    judge_settings,
    metric_list,
    select_embedders,
    target_settings,
)
from sgi.cli.options import typer_option
from sgi.cli.run_output import database_option
from sgi.engine.flags import Flag
from sgi.engine.open_resources import read_options
from sgi.engine.run_options import RunOptions
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sgi.store.run_queries import RunRecord

Values = dict[str, Any]
"""The fields of `RunOptions` that the user gave, with their values."""

_NAMED_IN_METRICS = ("nli", "nli_band")
"""Options that a TOML file can have, too; a run stores the metrics that they change."""
_NOT_REPEATED = {"out", "name", "rejects", "inputs"}
"""Options of a finished run that are not used again."""


def with_run_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace the parameter ``values`` of a command by flags for these options of a run.

    Args:
        names: fields of `RunOptions`, or single flags such as ``judge_set``; all without names.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        flags = _flags(names)

        @wraps(command)
        def run(**given: Any) -> None:
            parts = {name: given.pop(name, flag.default) for name, flag in flags.items()}
            command(**given, values=_parse(parts))

        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [one for each in own for one in (flags.values() if each.name == "values" else (each,))]
        keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]  # typer reads it
        return run

    return decorate


@cache
def _flags(names: tuple[str, ...]) -> dict[str, inspect.Parameter]:
    """Return a parameter for each flag, by its name: that of the field, or FIELD_PART for a part."""
    parameters = {}
    for field, info in RunOptions.model_fields.items():
        for flag in (each for each in info.metadata if isinstance(each, Flag)):
            name = _parameter_name(field, flag)
            if not names or field in names or name in names:
                kind = Annotated[flag.kind, typer_option(flag)]  # type: ignore[name-defined]  # made for typer
                default = False if flag.kind is bool else None
                keyword = inspect.Parameter.KEYWORD_ONLY
                parameters[name] = inspect.Parameter(name, keyword, default=default, annotation=kind)
    return parameters


def _parameter_name(field: str, flag: Flag) -> str:
    part = "set" if flag.part == "*" else flag.part
    return f"{field}_{part}" if part else field


def _parse(parts: Mapping[str, Any]) -> Values:
    """Return the fields that the user gave; a part of a field is under FIELD_PART."""
    given = {name: value for name, value in parts.items() if value is not None and value != []}
    given = {name: value for name, value in given.items() if value is not False or name == "judge_batch"}
    judge = {name.removeprefix("judge_"): given.pop(name) for name in [*given] if name.startswith("judge_")}
    target = {name: given.pop(name, None) for name in ("target_where", "target_set")}
    parsed = {
        "judge": judge_settings(judge.pop("set", None), judge),
        "target": target_settings(*target.values()),
        "metrics": metric_list(given.pop("metrics", [])) or None,
        "columns": column_map(given.pop("columns", None)) or None,
        "cache": cache_choice(given.pop("cache_file", None), no_cache=given.pop("cache_off", False)),
        "store": None if not given.pop("store", False) else False,
    }
    return given | {name: value for name, value in parsed.items() if value is not None and value is not True}


def run_options(values: Values, record: RunRecord | None = None, *, trusted: bool = False) -> RunOptions:
    """Return the options of a run: stored ones or those of a TOML file, overridden by the command line.

    Args:
        values: options of the command line.
        record: the run to resume; None for a new run.
        trusted: whether the stored options of the run are trusted; see `sgi.engine.stored_options`.

    Raises:
        UsageError: a value is invalid, or the user must name some of the stored options again.
    """
    call, overrides = RunOptions.split(values)
    file, source = Values(), "the command line"
    data = values.get("data")
    if data is not None and data.suffix.casefold() == ".toml":
        del overrides["data"]
        file, source = read_options(data), str(data)
    elif data is None and record is None:
        raise UsageError("DATA is required.", hint="Name a file, a .toml file, or --resume last.")
    stored = {}
    if record is not None:
        stored = _stored(record, _over(file, overrides), trusted=trusted, database=values.get("db"))
    merged = _over({**stored, **file}, overrides)
    if "target" in overrides and "where" not in merged["target"]:
        raise UsageError("--target-set needs --target.", hint="Write --target app:answer.")
    if "judge" in overrides and "model" not in merged["judge"]:
        raise UsageError(
            "Options of the judge are set, but no judge: --judge is required.",
            hint="Write --judge openai:NAME.",
        )
    if "data" not in merged:
        raise UsageError(f"{source}: data: field required.")
    call |= {name: merged.pop(name) for name in _NAMED_IN_METRICS if name in merged}
    call["code_folder"] = None if trusted or "where" in overrides.get("target", {}) else Path.cwd()
    options = RunOptions.of(merged, source=source, **call)
    if record is None:
        options = _with_embedder(options)
    if options.skips_rejected and options.rejects is None:
        path = options.out or _file_of(options.rows_file)
        options = options.model_copy(update={"rejects": path.with_name(f"{path.stem}.rejected.jsonl")})
    return options


def _stored(record: RunRecord, given: Values, *, trusted: bool, database: str | None) -> Values:
    """Return the stored options of a run; raise an error if the user must name some of them again."""
    from sgi.engine.stored_options import require_named, stored_options

    left_out = _NOT_REPEATED if record.finished else {"name"}
    options = stored_options(record, without=left_out)
    if not trusted:
        command = f"sgi run --resume {record.id}{database_option(database)}"
        require_named(options, given, run=record.label, command=command)
    return {key: value for key, value in record.spec.items() if key not in left_out}


def _over(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> Values:
    """Override options; those of a target or a judge one by one."""
    over = {**values, **overrides}
    for key in {"target", "judge"}.intersection(overrides):
        below = values.get(key)
        below = {"model": below} if isinstance(below, str) else below
        over[key] = {**(below if isinstance(below, dict) else {}), **overrides[key]}
    return over


def _with_embedder(options: RunOptions) -> RunOptions:
    """Set the embedders of a new run, so that it is resumed with the same model."""
    named = options.named_metrics
    metrics = None if named is None else [*named, *options.extra_metrics(named)]
    return options.model_copy(update={"embedders": tuple(select_embedders(options.embedders, metrics))})


def _file_of(data: Path) -> Path:
    """Return the file of the data, or the name of a benchmark that has no file."""
    from sgi.io.readers import parse_name

    location = parse_name(data)
    return data if location is None else location.path or Path(location.reader.name)
