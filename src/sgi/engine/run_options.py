"""The options of a run: one model for the command line, TOML files, Python and the store."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast
from urllib.parse import urlsplit

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
from typing_extensions import TypedDict

from sgi.engine import flags
from sgi.engine.calibration_file import CalibrationFile, read_calibration
from sgi.engine.cascade import Cascade, detector_metrics, parse_cascade
from sgi.engine.flags import Flag
from sgi.engine.named_metrics import with_entailment
from sgi.io.readers import absolute
from sgi.io.split_contexts import Separator
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.parsing import read_toml
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

    from sgi.engine.progress import Listener
    from sgi.kernel.metric import AnyMetric

EmbedderLike = str | Path | Embedder
JudgeLike = str | Mapping[str, Any] | JudgeSpec | Judge
CascadeLike = str | Mapping[str, Any] | Cascade
CalibrationLike = str | Path | CalibrationFile

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


def _as_on_error(value: Any) -> Any:
    return "stop" if value == "raise" else value


def _as_calibration(value: Any) -> Any:
    return None if value is None else read_calibration(value)


def _check_secrets(names: tuple[str, ...]) -> tuple[str, ...]:
    """Raise UsageError if a model's address contains a password, because runs store these addresses."""
    for name in names:
        if "@" in urlsplit(name.partition("@")[2]).netloc:
            hint = "Leave it out of the address: keys are read from the environment."
            raise UsageError("The address of an embedder holds a user or a password.", hint=hint)
    return names


def _check_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    from sgi.store.run_names import checked_tags  # it imports the database

    return checked_tags(tags)


def _check_rule(value: str) -> str:
    if not value.strip():
        raise UsageError(
            "The cluster rule is blank.", hint="Write question, contexts, row or the name of a column."
        )
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


MAX_REPEAT = 1000
"""Maximum number of answers to one question, and of judgements of one answer."""


@dataclass(frozen=True)
class Cassette:
    """A file of judge calls: if ``replaying``, its replies replace the judge, else calls are recorded."""

    path: Path
    replaying: bool


class RunOptions(BaseModel):
    """All that can be chosen about a run: one field for each option.

    The command line, the files of `sgi run FILE.toml`, the arguments of `sgi.run` and `sgi.evaluate`, and the
    settings that a run stores are these fields. A field that the store leaves out (``exclude``) changes no
    score.

    Attributes:
        data: the file of rows; None if the caller has the rows.
        metrics: names, with parameters in brackets; None selects those of ``define``, or else metrics by the
            fields of the data.
        out: a file for the scores.
        embedders: names, the primary one first; empty for the default model.
        judge: the judge; None if no metric needs one.
        define: metrics defined by tables, or a file of such tables; see `sgi.metrics.definitions`.
        calibration: a calibration file; adds its metric, and the probability and verdict computed from it.
        nli: the entailment model of the metrics that can use one; `metrics` then names it.
        nli_band: which sentences it reads; see `sgi.metrics.grounding.nli`.
        cascade: settings for sending only doubtful rows to the judge; adds `grounding`, which selects them.
        cluster: which rows are not independent: ``question``, ``contexts``, ``row`` or a metadata column.
        target: the RAG system that generates the responses; None if the data has them.
        repeat: how often the target answers each question.
        repeat_judge: how often the judge is asked about each answer.
        name: name of the run.
        tags: tags of the run.
        retry_failed: resume with the failed rows, and request cached judge replies again if they were
            unusable.
        take_over: resume a run that another process writes.
        db: the database: a SQLite file or ``postgresql://…``; None for the default one.
        store: whether the run is stored.
        no_texts: whether placeholders are stored in place of the texts; see `sgi.kernel.signature`.
        long_texts: how models given by name read texts that exceed their limit: in overlapping ``windows``,
            or ``truncate``, which reads their beginning.
        columns: field → column, if the columns' names are not recognised.
        per_turn: whether each turn of a conversation is a row; the rows of a conversation are then a cluster.
        split_contexts: how contexts that are one text are split; see `sgi.io.split_contexts`. None: not.
        encoding: encoding of a text file; None for UTF-8, or that of its byte order mark.
        on_error: ``stop`` at the first row that cannot be read, or ``skip`` such rows.
        rejects: a file for rows that cannot be read.
        max_failures: the share of failed rows above which the run stops, in [0, 1].
        cache: where vectors and judge replies are stored: a file, the user's cache (True), or nowhere
            (False).
        inputs: whether the file of scores holds the texts too.
        threads: number of batches computed in parallel; None for all cores of this process.
        allow_empty: whether a metric is scored whose columns have no value in any row.
        cassette: a file of judge calls to record or to replay.
        code_folder: the only folder whose code may run as a Python target; None allows any.
        given_embedders: embedders of the caller, with names of others, in place of ``embedders``; empty opens
            none.
        given_judge: a judge of the caller, in place of ``judge``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    data: Path | None = None
    metrics: Annotated[Names | None, flags.METRICS] = None
    out: Annotated[Path | None, flags.OUT] = None
    embedders: Annotated[Names, AfterValidator(_check_secrets), flags.EMBEDDERS] = ()
    judge: Annotated[
        JudgeSpec | None,
        BeforeValidator(_as_judge),
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
        BeforeValidator(_as_calibration),
        Flag(
            "File from `sgi calibrate`. Its metric is scored, too, and each row gets the probability that "
            "the answer is grounded, and a verdict.",
            group=flags.MODELS,
            kind=Path | None,
        ),
    ] = None
    nli: Annotated[str | None, flags.NLI] = Field(None, exclude=True)
    nli_band: Annotated[str | None, flags.NLI_BAND] = Field(None, exclude=True)
    cascade: Annotated[
        Cascade | None,
        BeforeValidator(parse_cascade),
        Flag(
            "Call the judge only for rows that the metric grounding does not accept as supported. At most "
            "the share A of the unsupported rows is accepted by mistake. The threshold is fitted on rows "
            "with a label (0 is unsupported), from FILE or from the data; they must be like the scored rows: "
            "same kind of questions, same system.",
            group=flags.JUDGES,
            metavar="alpha=A[,labelled=FILE]",
        ),
    ] = None
    cluster: Annotated[str, AfterValidator(_check_rule), flags.CLUSTER] = BY_QUESTION
    target: Annotated[
        TargetSpec | None,
        BeforeValidator(_as_target),
        Flag(
            "System that answers the questions: module:function, or a URL.",
            ("--target",),
            flags.TARGETS,
            part="where",
        ),
        Flag(
            "setting=value of the target: concurrency, timeout, retries, rate, question_field, "
            "answer_field, contexts_field, context_ids_field, context_scores_field, usage_field, cost_field, "
            "headers.NAME or body.NAME; repeatable.",
            ("--target-set",),
            flags.TARGETS,
            flags.TEXTS,
            part="*",
        ),
    ] = None
    repeat: Annotated[
        int,
        Field(ge=1, le=MAX_REPEAT),
        Flag(
            "Number of answers to each question; `sgi repeats` compares them. Default: 1.",
            group=flags.TARGETS,
            kind=int | None,
            minimum=1,
        ),
    ] = 1
    repeat_judge: Annotated[
        int,
        Field(ge=1, le=MAX_REPEAT),
        Flag(
            "Number of judgements of each answer; `sgi repeats` compares them. Default: 1.",
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
        AfterValidator(_check_tags),
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
        BeforeValidator(_as_on_error),
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
            named = _as_tuple(values.get("metrics") or [*defined.metrics])
            values |= {"define": defined, "metrics": with_entailment(named, nli, defined.metrics, band)}
        return values

    @classmethod
    def of(cls, values: Mapping[str, Any], *, source: str = "the run", **call: Any) -> Self:
        """Build the options from values; error messages name their ``source``.

        Args:
            values: options that a run stores, and the entailment model; None stands for the default.
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
                raise UnknownNameError(f"key in {source}", key, near, hint=f"It knows: {', '.join(known)}.")
        try:
            return cls(**{name: value for name, value in values.items() if value is not None}, **call)
        except ValidationError as errors:
            first = errors.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(f"{source}: {key}: {first['msg'][:1].lower()}{first['msg'][1:]}.")

    @classmethod
    def stored_names(cls) -> list[str]:
        """Return the names of the options that a run stores or a file can hold."""
        entailment = {"nli", "nli_band"}
        return [name for name, field in cls.model_fields.items() if not field.exclude or name in entailment]

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

    def extra_metrics(self, named: Sequence[str | AnyMetric] | None) -> tuple[AnyMetric, ...]:
        """Return the metrics that the calibration and the cascade add to the named ones."""
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
