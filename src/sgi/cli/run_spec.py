"""The spec of ``sgi run``: a TOML file or a kept run, and what the command line says over it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgi.engine.judge import Cassette
    from sgi.engine.spec import RunSpec
    from sgi.kernel.metric import AnyMetric
    from sgi.store.queries import RunRecord

_OF_ONE_CALL = {"out", "name", "rejects", "inputs"}
"""What a run that is finished does not repeat of its spec."""


def run_spec(given: dict[str, Any], record: RunRecord | None = None) -> RunSpec:
    """The spec: of the run to go on with, or of a TOML file, with what the command line says over it."""
    from sgi.cli.options import with_entailment
    from sgi.engine.spec import RunSpec, read_spec
    from sgi.kernel.errors import UsageError

    data = given.get("data")
    values: dict[str, Any] = {}
    source = "the command line"
    if record is not None:
        left_out = _OF_ONE_CALL if record.finished else {"name"}
        values = {key: value for key, value in record.spec.items() if key not in left_out}
    elif data is None:
        raise UsageError("Which data?", hint="Name a file, a .toml file, or --resume last.")
    if data is not None and data.suffix.casefold() == ".toml":
        values, source = values | read_spec(data), str(data)
        given = {key: value for key, value in given.items() if key != "data"}
    if "target" in given:
        values["target"] = {**(values.get("target") or {}), **given.pop("target")}
        if "where" not in values["target"]:
            raise UsageError("--target-set goes with --target.", hint="Write --target app:answer.")
    if "judge" in given:
        values["judge"] = {**_judge_values(values.get("judge")), **given.pop("judge")}
        if "model" not in values["judge"]:
            raise UsageError("No judge is named.", hint="Write --judge openai:NAME.")
    nli = given.pop("nli", None)
    values |= given
    if nli is not None:
        named = values.get("metrics") or []
        values["metrics"] = with_entailment([named] if isinstance(named, str) else named, nli)
    spec = _with_embedder(RunSpec.of(values, source=source), new=record is None)
    if spec.on_error == "skip" and spec.rejects is None:
        spec = spec.model_copy(update={"rejects": _beside(spec.out or _file_of(spec.data))})
    return spec


def _with_embedder(spec: RunSpec, *, new: bool) -> RunSpec:
    """The spec with the embedders named, so that a run is resumed with the model it began with."""
    from sgi.cli.options import chosen_embedders

    if not new:
        return spec
    metrics: list[str | AnyMetric] | None = None
    if spec.metrics is not None:
        metrics = [*spec.metrics, *spec.beside]
    how = {"backend": spec.backend, "precision": spec.precision}
    return spec.model_copy(update={"embedders": tuple(chosen_embedders(spec.embedders, metrics, **how))})


def recorded_settings(cassette: Cassette) -> dict[str, Any]:
    """The judge that a cassette was recorded from."""
    from sgi.judge.cassette import recorded_judge

    return recorded_judge(cassette.path)


def _judge_values(judge: Any) -> dict[str, Any]:
    """A judge's settings as a TOML file or a kept run has them: a table, or the name alone."""
    return {"model": judge} if isinstance(judge, str) else dict(judge or {})


def _file_of(data: Path) -> Path:
    """The file itself where the data is named with its benchmark; the benchmark where it is named alone."""
    from sgi.io.benchmarks.naming import named

    spelt = named(data)
    return data if spelt is None else spelt.path or Path(spelt.name)


def _beside(path: Path) -> Path:
    """``scores.jsonl`` → ``scores.rejected.jsonl``."""
    return path.with_name(f"{path.stem}.rejected.jsonl")


def check_files(spec: RunSpec) -> None:
    """What is read and what is written are different files, and of kinds that can be written."""
    from sgi.io.write import check_target
    from sgi.kernel.errors import UsageError

    named = {"the data": spec.data, "--out": spec.out, "the file of rejected rows": spec.rejects}
    places: dict[Path, str] = {}
    for name, path in named.items():
        if path is None:
            continue
        other = places.setdefault(path.resolve(), name)
        if other != name:
            raise UsageError(f"{path} is both {other} and {name}.", hint="Name another file.")
        if path is not spec.data:
            check_target(path)
