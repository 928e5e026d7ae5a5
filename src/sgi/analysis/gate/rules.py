"""The rules of a gate: from expressions such as ``faithfulness>=0.8``, and from TOML files."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.parsing import read_toml
from sgi.kernel.registry import metric as named_metric

MEAN = "mean"
_STATISTIC = re.compile(r"mean|p[1-9][0-9]?")
_WITH_STATISTIC = re.compile(r"(?P<metric>.*[\w)])\.(?P<statistic>mean|p[0-9]+)", re.DOTALL)


class Condition(StrEnum):
    """The comparison of a rule: a metric, an operator and a bound."""

    AT_LEAST = ">="
    ABOVE = ">"
    AT_MOST = "<="
    BELOW = "<"
    MAX_DROP = "drop <="

    @property
    def is_lower(self) -> bool:
        """Whether the condition sets a lower limit."""
        return self in {Condition.AT_LEAST, Condition.ABOVE}


@dataclass(frozen=True)
class Rule:
    """One requirement of a gate.

    Attributes:
        metric: its canonical string, or its name if the run has one metric of this name.
        condition: the comparison.
        threshold: a finite number, for a drop at least 0.
        coverage: share of rows that must have a value, in [0, 1]; None: the share of the gate.
        statistic: what is compared: ``mean``, or a percentile from ``p1`` to ``p99``.
        where: the rows to which it applies, as COLUMN=VALUE; empty for all rows.

    Raises:
        UsageError: an attribute is invalid.
    """

    metric: str
    condition: Condition
    threshold: float
    coverage: float | None = None
    statistic: str = MEAN
    where: str = ""

    def __post_init__(self) -> None:
        metric: object = self.metric
        if not (isinstance(metric, str) and metric.strip()):
            message = f"The metric of a rule must be a name, not {metric!r}."
            raise UsageError(message, hint='Give a name such as "sgi".')
        try:
            condition = Condition(self.condition)
        except ValueError:
            hint = f"Use one of: {', '.join(Condition)}."
            raise UsageError(f"The condition {self.condition!r} of a rule is not valid.", hint=hint) from None
        object.__setattr__(self, "condition", condition)
        name = f"The rule {self.name} {condition}"
        _check_statistic(name, self.statistic, condition)
        checked_threshold(name, self.threshold, least=_least(condition))
        check_range(self, *_known_range(self.metric))
        if self.coverage is not None:
            checked_share(f"{name} {self.threshold}: coverage", self.coverage)
        where: object = self.where
        if where != "" and not (isinstance(where, str) and "=" in where and self.group[0]):
            hint = 'Write COLUMN=VALUE, such as "kind=regression".'
            raise UsageError(f"{name} {self.threshold}: {self.where!r} does not name rows.", hint=hint)

    @property
    def group(self) -> tuple[str, str]:
        """The column and the value of the rows to which the rule applies."""
        column, _, value = self.where.partition("=")
        return column, value

    @property
    def name(self) -> str:
        """The metric with its statistic, such as ``latency.p95``; the metric alone for a mean."""
        return self.metric if self.statistic == MEAN else f"{self.metric}.{self.statistic}"

    @property
    def share(self) -> float | None:
        """The percentile as a share, such as 0.95 for ``p95``; None for a mean."""
        return None if self.statistic == MEAN else int(self.statistic[1:]) / 100

    @property
    def side(self) -> str:
        """The side of the limit: ``>=``, ``<=`` or ``drop``."""
        if self.condition is Condition.MAX_DROP:
            return "drop"
        return ">=" if self.condition.is_lower else "<="

    def __str__(self) -> str:
        rows = f"{self.where}: " if self.where else ""
        return f"{rows}{self.name} {self.condition} {self.threshold}"


def _check_statistic(name: str, statistic: object, condition: Condition) -> None:
    if not (isinstance(statistic, str) and _STATISTIC.fullmatch(statistic)):
        hint = "Write mean, or a percentile from p1 to p99, such as p95."
        raise UsageError(f"{name}: the statistic {statistic!r} is not valid.", hint=hint)
    if statistic != MEAN and condition is Condition.MAX_DROP:
        raise UsageError(f"{name}: a drop compares means, not {statistic}.", hint="Set a limit for it.")


_KEYS = {
    "at_least": Condition.AT_LEAST,
    "above": Condition.ABOVE,
    "at_most": Condition.AT_MOST,
    "below": Condition.BELOW,
    "max_drop": Condition.MAX_DROP,
}
_WAY_OUT = 'Write METRIC, one of >= > <= <, and a number: "faithfulness>=0.8".'
# The operator is the last one: a metric's parameters may hold others.
_RULE = re.compile(
    r"(?:(?P<where>[^<>=(:]*[^<>=(:\s]\s*=[^<>:]*):\s)?\s*(?P<metric>.*?[^\s<>=!~])\s*(?P<condition>[<>]=?)(?P<threshold>[^<>=]+)",
    re.DOTALL,
)


def read_rules(rules: str | Path | Rule | Sequence[str | Path | Rule]) -> tuple[Rule, ...]:
    """Read rules from expressions and from TOML files (paths, or texts that end in ``.toml``).

    A file has a table for each rule, and may set the coverage of all its rules::

        coverage = 0.98

        [[rule]]
        metric = "faithfulness"
        at_least = 0.8         # or: above, at_most, below
        max_drop = 0.02        # needs a baseline run
        coverage = 0.9         # for this rule only

        [[rule]]
        metric = "latency"
        statistic = "p95"      # as in the expression "latency.p95<=2000"
        at_most = 2000
        where = "kind=regression"  # as in the expression "kind=regression: latency.p95<=2000"

    Raises:
        UsageError: an expression or a file is invalid; the message says where.

    >>> [str(rule) for rule in read_rules(["sgi > 1", "rouge_l(beta=1.2)>=0.3"])]
    ['sgi > 1.0', 'rouge_l(beta=1.2) >= 0.3']
    """
    items = rules if isinstance(rules, Sequence) and not isinstance(rules, str) else [rules]
    return tuple(rule for item in items for rule in _read(item))


def _read(item: str | Path | Rule) -> tuple[Rule, ...]:
    if isinstance(item, Rule):
        return (item,)
    if isinstance(item, Path) or item.strip().endswith(".toml"):
        return _from_file(Path(item))
    return (parse_rule(item),)


def parse_rule(text: str) -> Rule:
    """Parse an expression such as ``sgi>=1``.

    Raises:
        UsageError: there is no metric, operator or finite number in it.

    >>> parse_rule("theta_rc <= 0.9").condition.name
    'AT_MOST'
    """
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a rule.", hint=_WAY_OUT)
    try:
        number = float(match["threshold"])
    except ValueError:
        message = f"{text!r} is not a rule: {match['threshold'].strip()!r} is not a number."
        raise UsageError(message, hint=_WAY_OUT) from None
    threshold = checked_threshold(repr(text), number)
    name, statistic = split_statistic(match["metric"])
    where = _stripped(match["where"] or "")
    return Rule(_canonical(name), Condition(match["condition"]), threshold, None, statistic, where)


def _stripped(where: Any) -> Any:
    """Remove spaces around the column and the value of a group."""
    return "=".join(map(str.strip, where.split("=", 1))) if isinstance(where, str) else where


def split_statistic(name: str) -> tuple[str, str]:
    """Split ``latency.p95`` into the metric and the statistic, which is ``mean`` if none is named."""
    match = _WITH_STATISTIC.fullmatch(name.strip())
    return (match["metric"], match["statistic"]) if match else (name, MEAN)


def check_range(rule: Rule, low: float | None, high: float | None) -> None:
    """Raise a UsageError for a threshold that metrics with this range always or never reach.

    >>> check_range(Rule("mine", Condition.AT_LEAST, 80), 0.0, 1.0)
    Traceback (most recent call last):
    sgi.kernel.errors.UsageError: The rule mine >= 80 ...: the range of mine is [0, 1]. Did you mean 0.8?
    """
    least, most = -math.inf if low is None else low, math.inf if high is None else high
    if rule.condition is Condition.MAX_DROP:
        least, most = 0.0, most - least
    threshold, limit = rule.threshold, (rule.condition, rule.threshold)
    never = {(Condition.ABOVE, most), (Condition.BELOW, least)}
    if least <= threshold <= most and limit not in never:
        return
    scaled = threshold / 100
    hint = f"Did you mean {scaled:g}?" if most == 1 and threshold > 1 and least <= scaled <= most else ""
    what = f"a drop of {rule.metric}" if rule.condition is Condition.MAX_DROP else rule.metric
    raise UsageError(f"The rule {rule} is invalid: the range of {what} is [{least:g}, {most:g}].", hint=hint)


def _known_range(name: str) -> tuple[float | None, float | None]:
    """Return the range of a metric; unbounded if it is not installed."""
    try:
        spec = named_metric(name).spec
    except UsageError:
        return None, None
    return spec.low, spec.high


def _least(condition: Condition) -> float:
    return 0.0 if condition is Condition.MAX_DROP else -math.inf


def checked_threshold(name: str, value: object, *, least: float = -math.inf) -> float:
    """Return a finite number that is at least ``least``, or raise a UsageError that begins with ``name``."""
    expected = "a finite number" if least == -math.inf else f"a finite number of at least {least:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"{name}: expected {expected}, found {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number >= least):
        raise UsageError(f"{name}: expected {expected}, found {number}.")
    return number


def checked_share(name: str, value: object) -> float:
    """Return a number from 0 to 1, or raise a UsageError that begins with ``name``."""
    number = checked_threshold(name, value, least=0.0)
    if number > 1:
        raise UsageError(f"{name}: expected a share from 0 to 1, found {number}.", hint="95 % is 0.95.")
    return number


def _canonical(name: str) -> str:
    """Return the canonical string of the metric; the name unchanged if it is not installed."""
    try:
        return named_metric(name.strip()).canonical
    except UsageError:
        return name.strip()


def _from_file(path: Path) -> tuple[Rule, ...]:
    content = read_toml(path, error=UsageError)
    _check_keys(str(path), content, ("coverage", "rule"))
    tables = content.get("rule", [])
    if not (isinstance(tables, list) and tables and all(isinstance(table, dict) for table in tables)):
        raise UsageError(f"{path}: the file has no rule.", hint="Begin each rule with a line [[rule]].")
    shared = checked_share(f"{path}: coverage", content["coverage"]) if "coverage" in content else None
    return tuple(
        rule
        for number, table in enumerate(tables, start=1)
        for rule in _from_table(f"{path}: rule {number}", table, shared)
    )


def _from_table(place: str, table: dict[str, Any], coverage: float | None) -> tuple[Rule, ...]:
    _check_keys(place, table, ("metric", "coverage", "statistic", "where", *_KEYS))
    name = table.get("metric")
    if not (isinstance(name, str) and name.strip()):
        raise UsageError(f"{place}: metric: expected a metric's name, found {name!r}.")
    conditions = [key for key in _KEYS if key in table]
    if not conditions:
        raise UsageError(f"{place}: {name} has no condition.", hint=f"Give one of: {', '.join(_KEYS)}.")
    share = checked_share(f"{place}: coverage", table["coverage"]) if "coverage" in table else coverage
    thresholds = {
        _KEYS[key]: checked_threshold(f"{place}: {key}", table[key], least=_least(_KEYS[key]))
        for key in conditions
    }
    name, statistic = split_statistic(name)
    statistic = table.get("statistic", statistic)
    where = _stripped(table.get("where", ""))
    return tuple(
        Rule(
            _canonical(name),
            condition,
            limit,
            share,
            MEAN if condition is Condition.MAX_DROP else statistic,
            where,
        )
        for condition, limit in thresholds.items()
    )


def _check_keys(place: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            near = tuple(difflib.get_close_matches(key, known, n=2, cutoff=0.5))
            raise UnknownNameError("key", key, near, hint=f"In {place}; known keys are {', '.join(known)}.")
