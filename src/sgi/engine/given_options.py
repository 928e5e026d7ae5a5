"""The options of a run as arguments of Python functions, and as the values of a TOML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from typing_extensions import TypedDict

from sgi.engine.calibration_file import CalibrationFile
from sgi.engine.cascade import Cascade, parse_cascade
from sgi.engine.run_options import READ_FROM, EmbedderLike, RunOptions
from sgi.kernel.errors import UsageError
from sgi.kernel.parsing import read_toml
from sgi.kernel.protocols import Judge
from sgi.llm.judge_spec import JudgeSpec
from sgi.metrics.definitions import Definitions

if TYPE_CHECKING:
    from sgi.engine.progress import Listener
    from sgi.io.split_contexts import Separator
    from sgi.models.embedder.long_texts import LongTexts
    from sgi.target.target_spec import TargetSpec

JudgeLike = str | Mapping[str, Any] | JudgeSpec | Judge
CascadeLike = str | Mapping[str, Any] | Cascade
CalibrationLike = str | Path | CalibrationFile


class ModelKeywords(TypedDict, total=False):
    """The fields of `RunOptions` about models and the judge, as keyword arguments."""

    judge: JudgeLike | None
    define: str | Path | Mapping[str, Any] | Definitions
    calibration: CalibrationLike | None
    retry_failed: bool
    long_texts: LongTexts
    cache: bool | str | Path
    threads: int | None


class OptionKeywords(ModelKeywords, total=False):
    """The fields of `RunOptions` as keyword arguments of `sgi.run` and `sgi.evaluate`, and their listener."""

    nli: str | None
    nli_band: str | None
    cascade: CascadeLike | None
    cluster: str | None
    target: str | Mapping[str, Any] | TargetSpec | None
    repeat: int
    repeat_judge: int
    name: str | None
    tags: Sequence[str]
    db: str | Path | None
    no_texts: bool
    columns: Mapping[str, str] | None
    per_turn: bool
    split_contexts: Separator | None
    encoding: str | None
    on_error: Literal["stop", "raise", "skip"]
    out: str | Path | None
    rejects: str | Path | None
    max_failures: float | str
    inputs: bool
    allow_empty: bool
    listener: Listener | None


def given_options(
    values: Mapping[str, Any],
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    *,
    source: str,
) -> RunOptions:
    """Build the options from arguments of a function; embedders and judges may be objects of the caller.

    An empty sequence of embedders opens none.

    >>> given_options({"threads": 2}, "minilm", source="the call").embedders
    ('minilm',)
    """
    call, stored = RunOptions.split(values)
    if embedder is not None:
        several = isinstance(embedder, Sequence) and not isinstance(embedder, str)
        likes: tuple[Any, ...] = tuple(cast("Sequence[EmbedderLike]", embedder)) if several else (embedder,)
        if likes and all(isinstance(like, str) for like in likes):
            stored["embedders"] = likes
        else:
            call["given_embedders"] = likes
    judge = stored.get("judge")
    if judge is not None and not isinstance(judge, (str, Mapping, JudgeSpec)):
        call["given_judge"] = checked_judge(stored.pop("judge"))
    return RunOptions.of(stored, source=source, **call)


def checked_judge(judge: object) -> Judge:
    """Return a judge of the caller; raises a UsageError if it is not one."""
    if isinstance(judge, Judge):
        return judge
    hint = "A judge has a `fingerprint`, a `budget` and `ask`; check it with sgi.testing.check_judge."
    raise UsageError(f"{type(judge).__name__} is not a judge.", hint=hint)


def model_options(
    values: Mapping[str, Any], embedders: Sequence[EmbedderLike] = (), **call: Any
) -> RunOptions:
    """Return options that open the models of a stored run, or other embedders in their place.

    >>> model_options({"embedders": ["minilm"], "metrics": ["sgi"]}).embedders
    ('minilm',)
    """
    names = tuple(values.get("embedders", ()))
    stored = {"long_texts": values.get("long_texts"), "embedders": names}
    return RunOptions.of(stored, **(call | ({"given_embedders": tuple(embedders)} if embedders else {})))


def read_options(path: Path) -> dict[str, Any]:
    """Read the values of a TOML file; paths in it are relative to its folder.

    Raises:
        UsageError: the file cannot be read, or is not TOML; the message names the line.
    """
    values = read_toml(path, error=UsageError)
    for name in READ_FROM:
        if isinstance(values.get(name), str):
            values[name] = path.parent / values[name]
    if isinstance(values.get("define"), dict):
        values["define"] = Definitions.of(values["define"], f"{path}: define", path.parent)
    if values.get("cascade") is not None:
        cascade = parse_cascade(values["cascade"])
        if cascade is not None and cascade.labelled is not None:
            values["cascade"] = cascade.model_copy(update={"labelled": path.parent / cascade.labelled})
    return values
