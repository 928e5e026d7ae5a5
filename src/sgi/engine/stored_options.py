"""Reads the stored settings of a run, and limits what they may do without the user.

A database or an export may come from someone else. Without the user's consent, its settings may only read the
run's data, use models of this machine, and create new files in the working folder. The user must name, or
trust, each setting that runs code, sends data, spends money or replaces a file.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.engine.run_options import RunOptions
from sgi.kernel.errors import StoreError, UsageError
from sgi.metrics.definitions import Definitions
from sgi.models.known_models import known_model
from sgi.target.target_spec import variables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from sgi.kernel.metric import AnyMetric
    from sgi.store.run_queries import RunRecord
    from sgi.target.target_spec import TargetSpec

_INLINE = ("calibration", "cascade", "define", "target")
"""Settings that the command line takes as a file name or text, and that a run stores as objects."""
_SERVICES = ("openai:", "azure:")
TRUST = "--trust-target"
_LABELS = re.compile(r"\(labels=[^)]*\)$")


def stored_options(record: RunRecord, *, without: Collection[str] = ()) -> RunOptions:
    """Return the settings of a stored run, except the names in ``without``.

    Raises:
        StoreError: the settings are damaged, or name a file to read.
    """
    values = {key: value for key, value in record.spec.items() if key not in without}
    return checked_options(values, f"the run {record.label}")


def checked_options(values: Mapping[str, Any], source: str) -> RunOptions:
    """Parse settings that may come from someone else, without opening any file that they name."""
    hint = "Start a new run over its data."
    inline = [key for key in _INLINE if not isinstance(values.get(key), (dict, type(None)))]
    if inline:
        raise StoreError(f"The settings of {source} are damaged: {inline[0]} is not an object.", hint=hint)
    try:
        return RunOptions.of(values, source=source)
    except UsageError as error:
        raise StoreError(f"The settings of {source} are damaged: {error}", hint=hint) from error


def stored_definitions(record: RunRecord) -> Definitions:
    """Return the metrics that a stored run defines; raises StoreError if they are damaged."""
    tables = record.spec.get("define", {})
    try:
        if isinstance(tables, dict):  # a name would be read as a file
            return Definitions.of(tables, f"the run {record.label}")
        reason = "define is not an object"
    except UsageError as error:
        reason = str(error)
    raise StoreError(f"The settings of the run {record.label} are damaged: {reason}.")


def require_named(spec: RunOptions, named: Mapping[str, Any], *, run: str, command: str) -> None:
    """Raise UsageError if stored settings would use code, services or files that the user did not name.

    ``named`` has the values from the command line, or from a file named there. ``command`` resumes the run.

    Raises:
        UsageError: a setting is not named; the message names it, and the command that resumes the run.
    """
    texts = list(_unnamed_settings(spec, named))
    if texts:
        raise UsageError(
            f"The stored settings of the run {run} name {_join_names(texts)}. Stored settings may come from "
            "someone else, so SGI does not use these without your consent.",
            hint=f"If you trust them: {command} {TRUST}. Otherwise name your own on the command line.",
        )


def resume_flags(spec: RunOptions) -> str:
    """Return the flags that a command needs to resume the run, after a space; empty if none.

    The judge is named if nothing else needs consent.

    >>> resume_flags(RunOptions.of({"data": "q.jsonl", "target": {"where": "rag:answer"}}))
    ' --trust-target'
    >>> resume_flags(RunOptions.of({"data": "answers.jsonl", "judge": {"model": "openai:gpt-4.1"}}))
    ' --judge openai:gpt-4.1'
    >>> resume_flags(RunOptions.of({"data": "answers.jsonl"}))
    ''
    """
    judge = "" if spec.judge is None else spec.judge.model
    if any(_unnamed_settings(spec, {"judge": judge})):
        return f" {TRUST}"
    return f" --judge {shlex.quote(judge)}" if judge else ""


def require_local_models(record: RunRecord, names: Iterable[str], *, option: str) -> None:
    """Raise a UsageError unless every model of a stored run is on this machine."""
    other = [name for name in names if not is_local_model(name)]
    if other:
        raise UsageError(
            f"The stored settings of the run {record.label} name the model {other[0]}, which is not on this "
            "machine. They may come from someone else, so SGI does not use it without your consent.",
            hint=f"If you trust it, name it: {option} {other[0]}.",
        )


def is_local_model(name: str) -> bool:
    """Return whether using a model contacts no service: it is a known model, or a local folder.

    >>> is_local_model("minilm"), is_local_model("openai:m@http://10.0.0.1/v1"), is_local_model("torch:a/b")
    (True, False, False)
    """
    place = _LABELS.sub("", name.removeprefix("torch:"))
    folder = Path.home() / place[2:] if place.startswith("~/") else Path(place)
    return known_model(name) is not None or (not name.startswith(_SERVICES) and folder.is_dir())


def models_of(metrics: Iterable[AnyMetric]) -> Iterator[str]:
    """Yield the models that metrics name in their parameters."""
    for metric in metrics:
        yield from metric.embedder_names(()) if metric.vector_needs else ()
        if metric.token_needs:
            yield metric.token_needs.token_model.name
        if metric.entailment_needs:
            yield metric.entailment_needs.entailment_model


def _unnamed_settings(spec: RunOptions, named: Mapping[str, Any]) -> Iterator[str]:
    """Describe the stored settings that need the user's consent."""
    if spec.target is not None:
        yield from _of_target(spec.target, _table(named.get("target")))
    if spec.judge is not None and "model" not in _table(named.get("judge")):
        yield f"the judge {spec.judge.model}"
    yield from (f"the model {name}" for name in _models(spec, named) if not is_local_model(name))
    if spec.out is not None and "out" not in named and not _is_new(spec.out, Path()):
        yield f"the output {spec.out}"
    folders = (Path(), (spec.out or spec.rows_file).parent)
    if spec.rejects is not None and "rejects" not in named and not _is_new(spec.rejects, *folders):
        yield f"the file of rejected rows {spec.rejects}"


def _of_target(target: TargetSpec, named: Mapping[str, Any]) -> Iterator[str]:
    if "where" not in named:
        yield f"the target {target.where}"
    settings: dict[str, JsonValue] = {"headers": {**target.headers}, "body": target.body}
    used = variables({key: value for key, value in settings.items() if key not in named})
    yield from (f"the environment variable {name}" for name in sorted(used))


def _table(value: object) -> Mapping[str, Any]:
    """Return the settings of a target or judge as a table; a judge may be given by its model alone."""
    return value if isinstance(value, dict) else {"model": value} if isinstance(value, str) else {}


def _models(spec: RunOptions, named: Collection[str]) -> Iterator[str]:
    if "embedders" not in named:
        yield from spec.embedders
    if "metrics" not in named and "nli" not in named:
        yield from models_of(spec.named_metrics or ())
    if "calibration" not in named and spec.calibration is not None:
        yield from models_of(spec.calibration.metrics())


def _is_new(path: Path, *folders: Path) -> bool:
    """Return whether a file does not exist yet and is in one of these folders."""
    place = path.resolve()
    return not place.exists() and any(place.is_relative_to(folder.resolve()) for folder in folders)


def _join_names(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
