"""The options of a run: one model for the command line, TOML files, Python and the store."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    SkipValidation,
    StrictBool,
    ValidationError,
    model_validator,
)

from sgi.engine import flags
from sgi.engine.calibration_file import CalibrationFile
from sgi.engine.cascade import Cascade, detector_metrics, parse_cascade
from sgi.engine.flags import Flag
from sgi.engine.named_metrics import with_entailment
from sgi.engine.option_parsing import (
    as_calibration,
    as_judge,
    as_on_error,
    as_target,
    as_tuple,
    check_rule,
    check_secrets,
    check_tags,
    share,
)
from sgi.io.readers import absolute
from sgi.io.split_contexts import Separator
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.protocols import Embedder, Judge
from sgi.kernel.registry import resolve
from sgi.kernel.signature import canonical_json, digest
from sgi.llm.judge_spec import JudgeSpec
from sgi.metrics.calibrated_metric import CalibratedMetric
from sgi.metrics.definitions import Definitions
from sgi.models.embedder.long_texts import LongTexts
from sgi.target.target_spec import TargetSpec
from sgi.text.conversation import SESSION

if TYPE_CHECKING:
    from pydantic import JsonValue

    from sgi.kernel.metric import AnyMetric

EmbedderLike = str | Path | Embedder

DEFAULT_EMBEDDER = "minilm"
MAX_FAILURES = 0.05
"""The share of failed rows above which a run stops."""

_PATHS = ("data", "out", "rejects")
READ_FROM = (*_PATHS, "calibration", "define")
_ASKED = {
    *("where", "question_field", "body", "headers", "answer_field", "contexts_field"),
    *("usage_field", "cost_field", "context_ids_field", "context_scores_field"),
}

Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
MAX_REPEAT = 1000
"""Maximum number of answers to one question, and of judgements of one answer."""


@dataclass(frozen=True)
class Cassette:
    """A file of judge calls: if ``replaying``, its replies replace the judge, else calls are recorded."""

    path: Path
    replaying: bool


class RunOptions(BaseModel):
    """All options of a run: one field for each, with its flag on the command line.

    The command line, the files of `sgi run FILE.toml`, the arguments of `sgi.run` and `sgi.evaluate`, and the
    settings that a run stores are these fields. A field that the store leaves out (``exclude``) changes no
    score. The help of a flag says what the field does; the following have none, or differ from it.

    Attributes:
        data: the file of rows; None if the caller has the rows. A TOML file must name it.
        embedders: names, the primary one first; empty for the default model.
        define: metrics defined by tables, or a file of such tables; see `sgi.metrics.definitions`.
        nli: the entailment model of the metrics that can use one; ``metrics`` then names it.
        columns: field → column, if the columns' names are not recognised.
        no_texts: whether placeholders are stored in place of the texts; see `sgi.kernel.signature`.
        max_failures: the share of failed rows above which the run stops, in [0, 1].
        cache: vectors and judge replies are stored in a file, the user's cache (True), or nowhere (False).
        threads: number of batches computed in parallel; None for all cores of this process.
        allow_empty: whether a metric is scored whose columns have no value in any row.
        cassette: a file of judge calls to record or to replay.
        code_folder: the only folder whose code may run as a Python target; None allows any.
        given_embedders: embedders of the caller and names, in place of ``embedders``; empty opens none.
        given_judge: a judge of the caller, in place of ``judge``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    data: Path | None = None
    metrics: Annotated[Names | None, flags.METRICS] = None
    out: Annotated[Path | None, flags.OUT] = None
    embedders: Annotated[Names, AfterValidator(check_secrets), flags.EMBEDDERS] = ()
    judge: Annotated[
        JudgeSpec | None,
        BeforeValidator(as_judge),
        flags.JUDGE,
        flags.JUDGE_SET,
        flags.JUDGE_CONCURRENCY,
        flags.RPM,
        flags.TPM,
        flags.JUDGE_TIMEOUT,
        flags.MAX_COST,
        flags.BATCH,
    ] = None
    define: Annotated[
        Definitions,
        PlainValidator(Definitions.of),
        PlainSerializer(lambda value: value.tables, dict),
        flags.DEFINE,
    ] = Definitions()
    calibration: Annotated[
        CalibrationFile | None,
        BeforeValidator(as_calibration),
        Flag(
            "File from `sgi judge calibrate`. Its metric is scored, too, and each row gets the probability "
            "that the answer is grounded, and a verdict.",
            group=flags.MODELS,
            kind=Path | None,
        ),
    ] = None
    nli: Annotated[str | None, flags.NLI] = Field(None, exclude=True)
    nli_band: Annotated[str | None, flags.NLI_BAND] = Field(None, exclude=True)
    cascade: Annotated[Cascade | None, BeforeValidator(parse_cascade), flags.CASCADE] = None
    cluster: Annotated[str, AfterValidator(check_rule), flags.CLUSTER] = BY_QUESTION
    target: Annotated[TargetSpec | None, BeforeValidator(as_target), flags.TARGET, flags.TARGET_SET] = None
    repeat: Annotated[
        int,
        Field(ge=1, le=MAX_REPEAT),
        Flag(
            "Number of answers to each question; `sgi study repeats` compares them. Default: 1.",
            group=flags.TARGETS,
            kind=int | None,
            minimum=1,
        ),
    ] = 1
    repeat_judge: Annotated[
        int,
        Field(ge=1, le=MAX_REPEAT),
        Flag(
            "Number of judgements of each answer; `sgi study repeats` compares them. Default: 1.",
            group=flags.JUDGES,
            kind=int | None,
            minimum=1,
        ),
    ] = 1
    name: Annotated[
        str | None, Flag("Name of the run; it must be unique in the database.", group=flags.STORAGE)
    ] = None
    tags: Annotated[
        tuple[str, ...],
        AfterValidator(check_tags),
        Flag("Tag of the run, to find it again; repeatable.", ("--tag",), flags.STORAGE, flags.TEXTS),
    ] = Field((), exclude=True)
    retry_failed: Annotated[
        bool,
        Flag(
            "With --resume: score failed rows again; the target is called for those rows only. Invalid "
            "replies in the cache are requested again from the judge, also in a new run.",
            ("--retry-failed",),
            flags.RESUMING,
            bool,
        ),
    ] = Field(default=False, exclude=True)
    take_over: Annotated[
        bool,
        Flag(
            "With --resume: take the run over from another process that writes it; the other process stops "
            "with an error.",
            ("--take-over",),
            flags.RESUMING,
            bool,
        ),
    ] = Field(default=False, exclude=True)
    db: Annotated[str | Path | None, flags.DATABASE] = Field(None, exclude=True)
    store: Annotated[
        bool, Flag("Do not store the run in a database.", ("--no-store",), flags.STORAGE, bool)
    ] = Field(default=True, exclude=True)
    no_texts: Annotated[
        bool,
        Flag(
            "For private data: store digests instead of texts, and nothing that a judge wrote.",
            ("--no-texts",),
            flags.STORAGE,
            bool,
        ),
    ] = False
    long_texts: Annotated[LongTexts, flags.LONG_TEXTS] = "windows"
    columns: Annotated[dict[str, str], flags.COLUMNS] = Field(default_factory=dict)
    per_turn: Annotated[
        bool,
        Flag(
            "Score every answer of a conversation in the column turns, not only the last: a row for each "
            "turn, with the columns session_id and turn. The turns of a conversation are one cluster.",
            ("--per-turn",),
            flags.DATA,
            bool,
        ),
    ] = False
    split_contexts: Annotated[
        Separator | None,
        Flag(
            "Split contexts that are one text: at lines of --- (dashes), at || (bars), at lines that begin "
            "with 1, 2, … (numbers), or at blank lines.",
            group=flags.DATA,
            kind=Separator | None,
        ),
    ] = None
    encoding: Annotated[str | None, flags.ENCODING] = None
    on_error: Annotated[
        Literal["stop", "skip"],
        BeforeValidator(as_on_error),
        Flag(
            "If a row cannot be read: stop (exit code 2; the default), or skip it and exit 3.",
            group=flags.DATA,
        ),
    ] = "stop"
    rejects: Annotated[
        Path | None,
        Flag(
            "File for rejected rows. Default: a file beside the scores.",
            group=flags.OUTPUT,
            kind=Path | None,
        ),
    ] = None
    max_failures: Annotated[
        float,
        BeforeValidator(share),
        Flag("Stop if more than this share of the rows failed. Default: 5%."),
    ] = MAX_FAILURES
    cache: Annotated[StrictBool | Path, flags.CACHE, flags.NO_CACHE] = Field(default=True, exclude=True)
    inputs: Annotated[bool, flags.INPUTS] = False
    threads: int | None = Field(None, exclude=True)
    allow_empty: bool = Field(default=False, exclude=True)
    cassette: Cassette | None = Field(None, exclude=True)
    code_folder: Path | None = Field(None, exclude=True)
    given_embedders: Annotated[tuple[EmbedderLike, ...] | None, SkipValidation] = Field(None, exclude=True)
    given_judge: Annotated[Judge | None, SkipValidation] = Field(None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _apply_dependent(cls, values: Any) -> Any:
        """Make a conversation the cluster of its turns, unless a rule is given; name the entailment model."""
        if not isinstance(values, Mapping):
            return values
        values = dict(values)
        if values.get("per_turn") is True and values.get("cluster") is None:
            values["cluster"] = SESSION
        nli, band = values.get("nli"), values.get("nli_band")
        if nli is not None or band is not None:
            defined = Definitions.of(values.get("define"))
            named = as_tuple(values.get("metrics") or [*defined.metrics])
            values |= {"define": defined, "metrics": with_entailment(named, nli, defined.metrics, band)}
        return values

    @classmethod
    def of(cls, values: Mapping[str, Any], *, source: str = "the run", **call: Any) -> Self:
        """Build the options from values; error messages name their ``source``.

        Args:
            values: options that a run stores; None stands for the default.
            source: what the values are from: a file, a command, a function.
            call: options that a run does not store.

        Raises:
            UsageError: a value is invalid; the message names source and key.
            UnknownNameError: a key does not exist; the message suggests similar ones.

        >>> RunOptions.of({"data": "rows.csv", "metrics": "sgi"}).metrics
        ('sgi',)
        """
        known = cls.stored_names()
        for key in values:
            if key not in known:
                near = tuple(difflib.get_close_matches(key, known, n=2))
                raise UnknownNameError(f"key in {source}", key, near, hint=f"Known keys: {', '.join(known)}.")
        try:
            return cls(**{name: value for name, value in values.items() if value is not None}, **call)
        except ValidationError as errors:
            first = errors.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(f"{source}: {key}: {first['msg'][:1].lower()}{first['msg'][1:]}.")

    @classmethod
    def stored_names(cls) -> list[str]:
        """Return the names of the options that a run stores."""
        return [name for name, field in cls.model_fields.items() if not field.exclude]

    @classmethod
    def split(cls, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Split values into the options of a call, which no run stores, and all others.

        >>> RunOptions.split({"db": "a.db", "name": "nightly"})
        ({'db': 'a.db'}, {'name': 'nightly'})
        """
        known = cls.stored_names()
        call = {key: value for key, value in values.items() if key in cls.model_fields and key not in known}
        return call, {key: value for key, value in values.items() if key not in call}

    @property
    def rows_file(self) -> Path:
        """The file of rows; raises a UsageError if the options name none."""
        if self.data is None:
            raise UsageError("DATA is required.", hint="Name a file, a .toml file, or --resume last.")
        return self.data

    @property
    def embedder_likes(self) -> list[EmbedderLike]:
        """The embedders to open, the primary one first."""
        if self.given_embedders is not None:
            return list(self.given_embedders)
        return list(self.embedders) or [DEFAULT_EMBEDDER]

    @property
    def has_judge(self) -> bool:
        """Whether a judge is named or given."""
        return self.judge is not None or self.given_judge is not None

    @property
    def skips_rejected(self) -> bool:
        """Whether rows that cannot be read are skipped."""
        return self.on_error == "skip"

    def with_metrics(self, metrics: Sequence[AnyMetric]) -> Self:
        """Return the options with all metrics named and absolute paths."""
        paths = {name: getattr(self, name) for name in _PATHS}
        known: dict[str, Any] = {name: path.resolve() for name, path in paths.items() if path is not None}
        known["data"] = absolute(self.rows_file)
        known["cache"] = self.cache.resolve() if isinstance(self.cache, Path) else self.cache
        cascade = None if self.cascade is None else self.cascade.with_absolute_path()
        named = tuple(m.canonical for m in metrics if not isinstance(m, CalibratedMetric))
        known |= {"cascade": cascade, "metrics": named, "define": self.definitions}
        return self.model_copy(update=known)

    @property
    def named_metrics(self) -> tuple[AnyMetric, ...] | None:
        """The metrics of ``metrics``, otherwise the metrics of ``define``; None if the data selects them."""
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

    def extra_metrics(self, named: Sequence[str | AnyMetric] | None) -> tuple[AnyMetric, ...]:
        """Return the metrics that the calibration and the cascade add to the named metrics."""
        fitted = () if self.calibration is None else self.calibration.metrics()
        return (*fitted, *(() if self.cascade is None else detector_metrics(named or ())))

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the stored options as JSON; they hold no secrets."""
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
