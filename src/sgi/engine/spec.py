"""The settings of a run: from a TOML file, the command line, or a stored run."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)
from typing_extensions import TypedDict

from sgi.engine.calibration_file import CalibrationFile, read_calibration
from sgi.engine.cascade import Cascade, detector_metrics, parse_cascade
from sgi.io.readers import absolute
from sgi.io.split_contexts import Separator
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.conversation import SESSION
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.parsing import read_toml
from sgi.kernel.registry import resolve
from sgi.kernel.signature import canonical_json, digest
from sgi.llm.judge_spec import JudgeSpec
from sgi.metrics.calibrated_metric import CalibratedMetric
from sgi.metrics.definitions import Definitions
from sgi.models.embedder.long_texts import LongTexts
from sgi.target.target_spec import TargetSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from sgi.kernel.metric import AnyMetric

DEFAULT_EMBEDDER = "minilm"
MAX_FAILURES = 0.05
"""The share of failed rows above which a run stops."""

_PATHS = ("data", "out", "rejects")
_READ_FROM = (*_PATHS, "calibration", "define")
_ASKED = {
    *("where", "question_field", "body", "headers", "answer_field", "contexts_field"),
    *("usage_field", "cost_field", "context_ids_field", "context_scores_field"),
}


def share(value: Any) -> float:
    """Parse a share of the rows, given as percent or as a number in [0, 1].

    >>> share("5%"), share("0.5"), share(0.1)
    (0.05, 0.5, 0.1)
    """
    text = str(value).strip()
    try:
        read = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        read = -1.0
    if not 0 <= read <= 1:
        raise UsageError(f"Cannot read the share {text!r}.", hint="Write 5% or 0.05.")
    return read


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _as_judge(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


def _as_target(value: Any) -> Any:
    return {"where": value} if isinstance(value, str) else value


def _as_calibration(value: Any) -> Any:
    return None if value is None else read_calibration(value)


def _check_secrets(names: tuple[str, ...]) -> tuple[str, ...]:
    """Raise UsageError if a model's address contains a password, because runs store these addresses."""
    for name in names:
        if "@" in urlsplit(name.partition("@")[2]).netloc:
            hint = "Leave it out of the address: keys are read from the environment."
            raise UsageError("The address of an embedder holds a user or a password.", hint=hint)
    return names


def _check_rule(value: str) -> str:
    if not value.strip():
        raise UsageError(
            "The cluster rule is blank.", hint="Write question, contexts, row or the name of a column."
        )
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


MAX_REPEAT = 1000
"""Maximum number of answers to one question, and of judgements of one answer."""


class RunSettings(TypedDict, total=False):
    """The arguments that become the settings of a run; see `RunSpec`."""

    long_texts: LongTexts
    columns: Mapping[str, str]
    encoding: str | None
    on_error: Literal["stop", "skip"]
    max_failures: float | str
    target: str | Mapping[str, Any] | TargetSpec | None
    repeat: int
    repeat_judge: int
    judge: str | Mapping[str, Any] | JudgeSpec | None
    calibration: str | Path | CalibrationFile | None
    define: str | Path | Mapping[str, Any] | Definitions
    cascade: str | Mapping[str, Any] | Cascade | None
    cluster: str
    name: str | None
    out: str | Path | None
    inputs: bool
    rejects: str | Path | None
    no_texts: bool
    per_turn: bool
    split_contexts: Separator | None


class RunSpec(BaseModel):
    """The settings of a run.

    Attributes:
        data: the file of rows.
        metrics: names, with parameters in brackets; None selects those of ``define``, or else metrics by the
            fields of the data.
        define: metrics defined by tables, or a file of such tables; see `sgi.metrics.definitions`.
        embedders: names, the primary one first; empty for the default model.
        long_texts: how models given by name read texts that exceed their limit: in overlapping ``windows``,
            or ``truncate``, which reads their beginning.
        columns: field → column, if the columns' names are not recognised.
        encoding: encoding of a text file; None for UTF-8, or that of its byte order mark.
        on_error: ``stop`` at the first row that cannot be read, or ``skip`` such rows.
        max_failures: the share of failed rows above which the run stops, in [0, 1].
        target: the RAG system that generates the responses; None if the data has them.
        repeat: how often the target answers each question.
        repeat_judge: how often the judge is asked about each answer.
        judge: the judge; None if no metric needs one.
        calibration: a calibration file; adds its metric, and the probability and verdict computed from it.
        cascade: settings for sending only doubtful rows to the judge; adds `grounding`, which selects them.
        cluster: which rows are not independent: ``question``, ``contexts``, ``row`` or a metadata column.
        name: name of the run.
        out: a file for the scores.
        inputs: whether that file holds the texts too.
        rejects: a file for rows that cannot be read.
        no_texts: whether placeholders are stored in place of the texts; see `sgi.kernel.placeholders`.
        per_turn: whether each turn of a conversation is a row; the rows of a conversation are then a cluster.
        split_contexts: how contexts that are one text are split; see `sgi.io.split_contexts`. None: not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: Path
    metrics: Names | None = None
    define: Annotated[
        Definitions, PlainValidator(Definitions.of), PlainSerializer(lambda value: value.tables, dict)
    ] = Definitions()
    embedders: Annotated[Names, AfterValidator(_check_secrets)] = ()
    long_texts: LongTexts = "windows"
    columns: dict[str, str] = Field(default_factory=dict)
    encoding: str | None = None
    on_error: Literal["stop", "skip"] = "stop"
    max_failures: Annotated[float, BeforeValidator(share)] = MAX_FAILURES
    target: Annotated[TargetSpec | None, BeforeValidator(_as_target)] = None
    repeat: Annotated[int, Field(ge=1, le=MAX_REPEAT)] = 1
    repeat_judge: Annotated[int, Field(ge=1, le=MAX_REPEAT)] = 1
    judge: Annotated[JudgeSpec | None, BeforeValidator(_as_judge)] = None
    calibration: Annotated[CalibrationFile | None, BeforeValidator(_as_calibration)] = None
    cascade: Annotated[Cascade | None, BeforeValidator(parse_cascade)] = None
    cluster: Annotated[str, AfterValidator(_check_rule)] = BY_QUESTION
    name: str | None = None
    out: Path | None = None
    inputs: bool = False
    rejects: Path | None = None
    no_texts: bool = False
    per_turn: bool = False
    split_contexts: Separator | None = None

    @model_validator(mode="before")
    @classmethod
    def _cluster_turns(cls, values: Any) -> Any:
        """Make a conversation the cluster of its turns, unless a rule is given."""
        if isinstance(values, Mapping) and values.get("per_turn") is True and values.get("cluster") is None:
            return {**values, "cluster": SESSION}
        return values

    @classmethod
    def of(cls, values: Mapping[str, Any], *, source: str = "the run") -> Self:
        """Build the spec from values; error messages name their ``source``.

        Raises:
            UsageError: a value is invalid; the message names source and key.
            UnknownNameError: a key does not exist; the message suggests similar ones.

        >>> RunSpec.of({"data": "rows.csv", "metrics": "sgi"}).metrics
        ('sgi',)
        """
        try:
            return cls(**values)
        except ValidationError as errors:
            first = errors.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            near = tuple(difflib.get_close_matches(key, cls.model_fields, n=2))
            raise UnknownNameError(
                f"key in {source}", key, near, hint=f"It knows: {', '.join(cls.model_fields)}."
            )
        raise UsageError(f"{source}: {key}: {first['msg'][:1].lower()}{first['msg'][1:]}.")

    def with_metrics(self, metrics: Sequence[AnyMetric]) -> Self:
        """Return the spec with all metrics named and absolute paths."""
        paths = {name: getattr(self, name) for name in _PATHS}
        known: dict[str, Any] = {name: path.resolve() for name, path in paths.items() if path is not None}
        known["data"] = absolute(self.data)
        cascade = None if self.cascade is None else self.cascade.with_absolute_path()
        named = tuple(m.canonical for m in metrics if not isinstance(m, CalibratedMetric))
        known |= {"cascade": cascade, "metrics": named, "define": self.definitions}
        return self.model_copy(update=known)

    @property
    def named_metrics(self) -> tuple[AnyMetric, ...] | None:
        """The metrics by ``metrics``, or else those of ``define``; None if the data selects them."""
        if self.metrics is not None:
            return resolve(self.metrics, self.definitions.metrics)
        return tuple(self.define.metrics.values()) or None

    @property
    def definitions(self) -> Definitions:
        """The definitions of ``define`` and of the calibration; raises UsageError if they disagree."""
        fitted = Definitions() if self.calibration is None else self.calibration.define
        for name, metric in fitted.metrics.items():
            if self.define.metrics.get(name, metric) != metric:
                message = f"The calibration has another definition of {name} than `define`."
                raise UsageError(message, hint="Use the definition that was calibrated, or calibrate again.")
        return self.define.with_others(fitted)

    @property
    def extra_metrics(self) -> tuple[AnyMetric, ...]:
        """Metrics added by the calibration and the cascade."""
        fitted = () if self.calibration is None else self.calibration.metrics()
        return (*fitted, *(() if self.cascade is None else detector_metrics(self.named_metrics or ())))

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the spec as JSON; it holds no secrets."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def stored_settings(self, metrics: Sequence[AnyMetric]) -> tuple[dict[str, JsonValue], str]:
        """Return the settings of a run of these metrics as JSON, and their `identity`."""
        return self.with_metrics(metrics).to_dict(), self.identity(metrics)

    def identity(self, metrics: Sequence[AnyMetric]) -> str:
        """Return a hash of all settings that can change a score, without data and model fingerprints."""
        facts: dict[str, Any] = {
            "metrics": [[metric.canonical, metric.spec.version] for metric in metrics],
            "embedders": list(self.embedders) or [DEFAULT_EMBEDDER],
            "long_texts": self.long_texts,
        }
        if self.target is not None:
            facts["target"] = self.target.model_dump(mode="json", include=_ASKED)
        if self.judge is not None:
            facts["judge"] = self.judge.identity()
        if self.cascade is not None:
            facts["cascade"] = self.cascade.identity()
        return digest(canonical_json(facts)).hex()


def model_settings(values: Mapping[str, Any]) -> tuple[Sequence[str], LongTexts]:
    """Return the models in the stored settings of a run: their names, and how they read long texts.

    >>> model_settings({"embedders": ["minilm"]})
    (['minilm'], 'windows')
    """
    return values.get("embedders", ()), values.get("long_texts", "windows")


def read_spec(path: Path) -> dict[str, Any]:
    """Read the values of a TOML file; paths in it are relative to its folder.

    Raises:
        UsageError: the file cannot be read, or is not TOML; the message names the line.
    """
    values = read_toml(path, error=UsageError)
    for name in _READ_FROM:
        if isinstance(values.get(name), str):
            values[name] = path.parent / values[name]
    if isinstance(values.get("define"), dict):
        values["define"] = Definitions.of(values["define"], f"{path}: define", path.parent)
    if values.get("cascade") is not None:
        cascade = parse_cascade(values["cascade"])
        if cascade is not None and cascade.labelled is not None:
            values["cascade"] = cascade.model_copy(update={"labelled": path.parent / cascade.labelled})
    return values
