"""Metrics defined in a file: each table has the name of a metric, and holds the metric and its parameters."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import AnyMetric, MetricSpec, Scores
from sgi.kernel.parsing import MAX_DEPTH, read_toml
from sgi.kernel.registry import build_metric, metric_names, parse_metric
from sgi.kernel.sample import Field
from sgi.kernel.short_text import name_problem, shorten
from sgi.kernel.signature import canonical_json, digest
from sgi.metrics.aggregate_base import Aggregate
from sgi.metrics.wrapper import JudgedWrapper, MetricWrapper

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

    from sgi.kernel.sample import Batch

Table = Mapping[str, Any]

MAX_FILE = 1_000_000
"""Maximum number of bytes of a file of definitions."""
MAX_DEFINITIONS = 200
MAX_NESTED = 10
"""Maximum number of definitions that use each other in a chain."""
MAX_DESCRIPTION = 500

_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
_OWN_KEYS = ("metric", "description", "higher_is_better")
_RESERVED = frozenset({"calibrated", "label", "id", "metadata", *(str(name) for name in Field)})
"""Names with another meaning in commands and exports."""
_MAX_SHOWN = 60
_MAX_FORMULA = 200
_MAX_PLACE = 200


class Definition(NamedTuple):
    """The table that defines a metric.

    Attributes:
        table: the values of the table.
        tables: this table and the tables of the definitions that it uses, by name.
    """

    table: Table
    tables: Mapping[str, Table]

    @property
    def description(self) -> str:
        """The description; empty if the table has none."""
        return str(self.table.get("description", ""))


@dataclass(frozen=True, eq=False, repr=False)
class DefinedMetric(MetricWrapper):
    """A metric that a definition names: its name is new, its values are those of the inner metric.

    Attributes:
        name: the name of the definition.
        metric: the metric that it names, with its parameters.
        higher_is_better: the direction, if it differs from the direction of the metric.
        definition: the table, and those that it uses.
    """

    name: str
    metric: AnyMetric
    higher_is_better: bool
    definition: Definition = field(compare=False, repr=False)
    spec: ClassVar[MetricSpec]

    def __post_init__(self) -> None:
        spec = replace(self.metric.spec, name=self.name, higher_is_better=self.higher_is_better)
        object.__setattr__(self, "spec", spec)

    # Definitions that use each other can have too many parts to visit all. Runs also know a metric by its
    # canonical string.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, DefinedMetric) and self.canonical == other.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.canonical!r})"

    @property
    def parameters(self) -> dict[str, Any]:
        """A hash of the metric, its parameters and the direction."""
        facts: list[JsonValue] = [self.metric.canonical, self.higher_is_better]
        return {"definition": digest(canonical_json(facts), size=4).hex()}

    @property
    def formula(self) -> str:
        """The metric with its parameters, with definitions replaced by their content.

        Definitions that stand for more than 200 metrics are not replaced.
        """
        direction = "" if self.higher_is_better == self.metric.spec.higher_is_better else ", reversed"
        is_small = _size(self.metric, {}) <= _MAX_FORMULA
        return f"{(_expanded(self.metric) if is_small else self.metric).canonical}{direction}"

    @property
    def inner(self) -> AnyMetric:
        """The metric that the definition names."""
        return self.metric

    def convert(self, scores: Scores, _batch: Batch) -> Scores:
        """Return the scores unchanged."""
        return scores


@dataclass(frozen=True, eq=False, repr=False)
class DefinedJudgedMetric(DefinedMetric, JudgedWrapper):
    """A `DefinedMetric` of a judged metric; it shares the judge calls of that metric."""


def _size(metric: AnyMetric, known: dict[int, int]) -> int:
    """Return the number of metrics that a metric stands for, each as often as it is used."""
    if isinstance(metric, DefinedMetric):
        return _size(metric.metric, known)
    if not isinstance(metric, Aggregate):
        return 1
    if id(metric) not in known:
        known[id(metric)] = 1 + sum(_size(part, known) for part in metric.of)
    return known[id(metric)]


def _expanded(metric: AnyMetric) -> AnyMetric:
    """Return a metric with its definitions replaced by what they stand for."""
    if isinstance(metric, DefinedMetric):
        return _expanded(metric.metric)
    if isinstance(metric, Aggregate):
        parts = tuple(map(_expanded, metric.of))
        if len(set(parts)) == len(parts):
            return replace(metric, of=parts)
    return metric


@dataclass(frozen=True)
class Definitions:
    """Metrics by name, and the tables that define them.

    Attributes:
        tables: the values of each table, by the name of the metric.
        metrics: the metrics, by name.
    """

    tables: Mapping[str, Table] = field(default_factory=dict)
    metrics: Mapping[str, AnyMetric] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, value: object, source: str = "define", folder: Path | None = None) -> Definitions:
        """Build definitions from tables, or read them from a file; None defines nothing.

        ``source`` names the tables in errors. Files of schemas are relative to ``folder``; None refuses them.

        >>> tables = {"quality": {"metric": "minimum", "of": ["rouge_l", "squad_em"]}}
        >>> Definitions.of(tables).metrics["quality"].canonical
        'quality(definition="25595f97")'
        """
        if isinstance(value, Definitions):
            return value
        if value is None:
            return cls()
        if isinstance(value, (str, Path)):
            path = Path(value)
            return cls.of(read_toml(path, error=UsageError, most=MAX_FILE), str(path), path.parent)
        from sgi.metrics.assertions.json_documents import with_schemas

        if not isinstance(value, Mapping):
            message = f"{source}: expected a file or tables of metrics, found {_shown(value)}."
            raise UsageError(message, hint="Write [define.NAME], and below it: metric = ...")
        if len(value) > MAX_DEFINITIONS:
            raise UsageError(f"{source}: it has {len(value):,} tables; at most {MAX_DEFINITIONS} are read.")
        tables = {
            name: with_schemas(table, folder, f"{source}: [{_shown(name)[1:-1]}]")
            for name, table in value.items()
        }
        builder = _Builder(tables, source)
        metrics = {name: builder[name] for name in tables}
        return cls({name: dict(tables[name]) for name in tables}, metrics)

    @classmethod
    def used_by(cls, metrics: Iterable[str | AnyMetric]) -> Definitions:
        """Return the definitions of defined metrics, and of parts of aggregates."""
        tables: dict[str, Table] = {}
        for metric in metrics:
            for name, table in _tables_of(metric):
                if tables.setdefault(name, table) != table:
                    raise UsageError(f"Two of the metrics have different definitions of {name}.")
        return cls.of(tables)

    def with_others(self, others: Definitions) -> Definitions:
        """Return these definitions and others; for a name in both, these take precedence."""
        return Definitions({**others.tables, **self.tables}, {**others.metrics, **self.metrics})

    def __bool__(self) -> bool:
        return bool(self.tables)


def _tables_of(metric: object) -> Iterator[tuple[str, Table]]:
    if isinstance(metric, DefinedMetric):
        yield from metric.definition.tables.items()
    elif isinstance(metric, Aggregate):
        for part in metric.of:
            yield from _tables_of(part)


def read_metrics(source: str | Path | Mapping[str, Table]) -> dict[str, AnyMetric]:
    """Read metrics that are defined in a TOML file, or in tables with the same values, by name.

    Use them where a metric is expected: ``sgi.evaluate(rows, [metrics["quality"]])``.

    Raises:
        UsageError: a definition is invalid; the message names the file, the table and the key.

    >>> tables = {"quality": {"metric": "weighted_mean", "of": ["rouge_l", "squad_em"], "weights": [2, 1]}}
    >>> read_metrics(tables)["quality"].spec.name
    'quality'
    """
    return dict(Definitions.of(source, "read_metrics").metrics)


class _Builder(Mapping[str, AnyMetric]):
    """Builds the metric of a table when it is looked up, and those that it uses before it."""

    def __init__(self, tables: Mapping[str, Any], source: str) -> None:
        self._tables = tables
        self._source = source
        self._metrics: dict[str, AnyMetric] = {}
        self._building: list[str] = []
        self._used: list[dict[str, Table]] = []

    def __getitem__(self, name: str) -> AnyMetric:
        if name not in self._metrics:
            self._metrics[name] = self._build(name)
        metric = self._metrics[name]
        if self._used and isinstance(metric, DefinedMetric):
            self._used[-1].update(metric.definition.tables)
        return metric

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def _build(self, name: str) -> AnyMetric:
        place = f"{self._source}: [{shorten(name, _MAX_SHOWN)!r}]"
        _check_name(name, place)
        place = f"{self._source}: [{name}]"
        if name in self._building:
            chain = " → ".join([*self._building[self._building.index(name) :], name])
            raise UsageError(f"{place}: the definitions use each other in a cycle: {chain}.")
        if len(self._building) == MAX_NESTED:
            raise UsageError(f"{place}: more than {MAX_NESTED} definitions use each other in a chain.")
        table = self._tables[name]
        kind, arguments = _checked_table(table, place, self._tables)
        self._building.append(name)
        self._used.append({})
        try:
            metric = build_metric(kind, arguments, self, source=kind)
        except UsageError as error:
            if str(error).startswith(f"{self._source}: ["):
                raise
            raise UsageError(f"{place}: {error.message}", hint=error.hint) from error
        finally:
            self._building.pop()
            used = self._used.pop()
        better = table.get("higher_is_better", metric.spec.higher_is_better)
        definition = Definition(table, {**used, name: table})
        defined = DefinedJudgedMetric if isinstance(metric, JudgedMetric) else DefinedMetric
        return defined(name, metric, better, definition)


def _check_name(name: object, place: str) -> None:
    """Raise a UsageError for a name that is not an identifier, or that another metric has."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        hint = "A name has at most 60 letters a to z, digits and _, and begins with a letter."
        raise UsageError(f"{place}: this is not a valid name of a metric.", hint=hint)
    if name in metric_names():
        raise UsageError(
            f"{place}: this is already the name of a metric of SGI.", hint=f"Choose another: my_{name}."
        )
    if name in _RESERVED:
        raise UsageError(f"{place}: this name is reserved.", hint=f"Choose another: my_{name}.")


def _checked_table(table: object, place: str, tables: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of the metric and its parameters in a table; raises UsageError if it is invalid."""
    if not isinstance(table, Mapping):
        hint = 'Write a table: metric = "weighted_mean", and its parameters as keys.'
        raise UsageError(f"{place}: expected a table, found {_shown(table)}.", hint=hint)
    text = table.get("metric")
    if not isinstance(text, str):
        near = difflib.get_close_matches("metric", [key for key in table if key != "metric"], n=1)
        hint = f"It has the key {near[0]}." if near else 'Write metric = "weighted_mean", for example.'
        raise UsageError(f"{place}: metric: expected the name of a metric, found {_shown(text)}.", hint=hint)
    _check_own_keys(table, place)
    try:
        kind, arguments = parse_metric(text)
    except UsageError as error:
        raise UsageError(f"{place}: metric: {error.message}", hint=error.hint) from error
    if kind in tables:
        hint = f'Use it as a part: metric = "minimum", of = ["{kind}"].'
        raise UsageError(f"{place}: metric: {kind} is a definition, not a metric.", hint=hint)
    for key, value in table.items():
        if key in arguments:
            raise UsageError(f"{place}: {key}: the key repeats a parameter in metric = {text!r}.")
        if key not in _OWN_KEYS:
            arguments[key] = _frozen(value, f"{place}: {key}")
    return kind, arguments


def _check_own_keys(table: Table, place: str) -> None:
    """Raise a UsageError for an invalid description or direction."""
    description = table.get("description", "-")
    if not isinstance(description, str):
        raise UsageError(f"{place}: description: expected a text, found {_shown(description)}.")
    if problem := name_problem(description, longest=MAX_DESCRIPTION):
        raise UsageError(f"{place}: description: {problem}.")
    if not isinstance(table.get("higher_is_better", True), bool):
        shown = _shown(table["higher_is_better"])
        raise UsageError(f"{place}: higher_is_better: expected true or false, found {shown}.")


def _frozen(value: object, place: str, depth: int = 0) -> Any:
    """Return a value of a table with tuples in place of lists; raises UsageError for other than JSON."""
    if depth > MAX_DEPTH:
        raise UsageError(f"{shorten(place, _MAX_PLACE)}: it is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item, place, depth + 1) for item in value)
    if isinstance(value, Mapping):
        return {str(key): _frozen(item, f"{place}.{key}", depth + 1) for key, item in value.items()}
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise UsageError(f"{place}: expected a text, a number, true, false, a list or a table, not {value!r}.")


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(shorten(str(value), _MAX_SHOWN))
