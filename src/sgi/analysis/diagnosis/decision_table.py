"""The decision table: ordered rules with conditions over signals, read from TOML."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from sgi.analysis.diagnosis.causes import CAUSES, PLACEHOLDER, Cause, Condition, Rule
from sgi.analysis.diagnosis.diagnosis_signals import SIGNALS
from sgi.kernel.errors import UsageError
from sgi.kernel.parsing import read_toml
from sgi.kernel.short_text import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.analysis.diagnosis.causes import Operator
    from sgi.analysis.diagnosis.diagnosis_signals import Signal

_LOWER = (">", ">=")


def unreachable(rules: Sequence[Rule]) -> tuple[Rule, str] | None:
    """Return the first rule that can never decide, with the reason; None if there is none.

    A rule cannot decide if two of its conditions exclude each other, or if an earlier rule
    holds whenever it holds.
    """
    for number, rule in enumerate(rules):
        for one, other in combinations(rule.when, 2):
            if _exclude(one, other):
                return rule, f"{one.text!r} and {other.text!r} never hold together"
        for earlier in rules[:number]:
            if all(any(_implies(given, needed) for given in rule.when) for needed in earlier.when):
                return (
                    rule,
                    f"it can never decide: rule {earlier.number} holds for the same rows and comes first",
                )
    return None


def _implies(given: Condition, needed: Condition) -> bool:
    """Return whether each row that meets a condition meets another one."""
    if given.signal != needed.signal:
        return False
    if "is" in (given.operator, needed.operator):
        return given.operator == needed.operator and given.value is needed.value
    if (given.operator in _LOWER) != (needed.operator in _LOWER):
        return False
    bound, limit = cast("float", given.value), cast("float", needed.value)
    beyond = bound > limit if given.operator in _LOWER else bound < limit
    return beyond or (bound == limit and ("=" not in given.operator or "=" in needed.operator))


def _exclude(one: Condition, other: Condition) -> bool:
    """Return whether no row meets both conditions."""
    if one.signal != other.signal:
        return False
    if "is" in (one.operator, other.operator):
        return one.operator != other.operator or one.value is not other.value
    if (one.operator in _LOWER) == (other.operator in _LOWER):
        return False
    low, high = (one, other) if one.operator in _LOWER else (other, one)
    least, most = cast("float", low.value), cast("float", high.value)
    return least > most or (least == most and not ("=" in low.operator and "=" in high.operator))


MAX_RULES = 200
MAX_CONDITIONS = 20
_HINT = "`sgi diagnose --print-table` prints the built-in table as an example."
_KEYS = frozenset({"thresholds", "next_steps", "rule"})
_RULE_KEYS = frozenset({"cause", "because", "when"})
_CONDITION = re.compile(r"([A-Za-z_]\w*)\s*(>=|<=|<|>|\bis\b)\s*([-\w.]+)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "unknown": None}


@dataclass(frozen=True)
class Decision:
    """The rule that gives the cause of a row, or the reason why no rule does."""

    rule: Rule | None
    reason: str = ""


@dataclass(frozen=True)
class DecisionTable:
    """Ordered rules; the first rule whose conditions all hold gives the cause of a row.

    Attributes:
        source: the file.
        thresholds: named numbers that conditions use.
        next_steps: what to do about a cause.
    """

    source: str
    thresholds: Mapping[str, float]
    next_steps: Mapping[Cause, str]
    rules: tuple[Rule, ...]

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that the rules use, without repeats."""
        names = (name for rule in self.rules for name in (*rule.signals, *rule.quoted))
        return tuple(dict.fromkeys(names))

    def decide(self, signals: Mapping[str, Signal]) -> Decision:
        """Return the first rule that holds, or a reason that names the unknown signals.

        A condition on an unknown signal is not met.
        """
        lacking: dict[str, None] = {}
        for rule in self.rules:
            met = [condition.holds(signals) for condition in rule.when]
            if all(met):
                return Decision(rule)
            if not any(each is False for each in met):
                unknown = (at.signal for at, each in zip(rule.when, met, strict=True) if each is None)
                lacking |= dict.fromkeys(signals[name].reason or f"{name} is unknown" for name in unknown)
        if lacking:
            # Reasons share parts, such as the languages of a metric.
            parts = dict.fromkeys(part for reason in lacking for part in reason.split("; "))
            return Decision(None, "; ".join(parts))
        return Decision(None, "no rule of the table fits this row")


@cache
def built_in_table() -> DecisionTable:
    """Return the built-in decision table of this package."""
    return read_table(Path(str(files("sgi.data") / "diagnosis.toml")))


def built_in_text() -> str:
    """Return the text of the TOML file with the built-in decision table."""
    return (files("sgi.data") / "diagnosis.toml").read_text(encoding="utf-8")


def read_table(path: str | Path) -> DecisionTable:
    """Read a decision table from a TOML file.

    Raises:
        UsageError: the file cannot be read, or a rule is not valid; the message names file, rule and key.
    """
    values = read_toml(Path(path), error=UsageError, hint=_HINT)
    return _Reader(str(path)).table(values)


@dataclass(frozen=True)
class _Reader:
    """Checks the values of a file; errors name the file, the rule and the key."""

    source: str

    def fail(self, message: str, place: str = "", hint: str = _HINT) -> NoReturn:
        where = f"{self.source}: {place}: " if place else f"{self.source}: "
        raise UsageError(f"{where}{message}", hint=hint)

    def table(self, values: Mapping[str, Any]) -> DecisionTable:
        self.keys(values, _KEYS, "")
        thresholds = self.thresholds(values.get("thresholds", {}))
        entries = values.get("rule")
        if not isinstance(entries, list) or not entries:
            self.fail("the table has no rules; write each as [[rule]]")
        if len(entries) > MAX_RULES:
            self.fail(f"{len(entries):,} rules; at most {MAX_RULES} are allowed")
        rules = tuple(self.rule(number, entry, thresholds) for number, entry in enumerate(entries, 1))
        if found := unreachable(rules):
            self.fail(found[1], f"rule {found[0].number}: when")
        used = {
            name
            for rule in entries
            for text in rule["when"]
            if (name := _CONDITION.fullmatch(text.strip())[3]) in thresholds  # type: ignore[index]  # checked
        }
        if unused := thresholds.keys() - used:
            self.fail(
                f"no rule uses it; the rules use: {', '.join(sorted(used)) or 'none'}",
                f"thresholds.{min(unused)}",
            )
        return DecisionTable(self.source, thresholds, self.next_steps(values.get("next_steps", {})), rules)

    def keys(self, values: Any, known: frozenset[str], place: str) -> None:
        if not isinstance(values, dict):
            self.fail("expected a table of keys", place)
        for key in values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                guess = f" Did you mean {near[0]!r}?" if near else ""
                self.fail(
                    f"unknown key {quote(key)!r}.{guess} The keys are: {', '.join(sorted(known))}", place
                )

    def thresholds(self, values: Any) -> dict[str, float]:
        if not isinstance(values, dict):
            self.fail("expected names and numbers", "thresholds")
        for name, value in values.items():
            place = f"thresholds.{quote(name)}"
            if not _NAME.fullmatch(name) or name in SIGNALS or name in _WORDS:
                self.fail("a threshold needs a name of letters and _ that is not a signal", place)
            self.number(value, place)
        return {name: float(value) for name, value in values.items()}

    def number(self, value: Any, place: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
            self.fail(f"expected a number, found {quote(repr(value))}", place)

    def next_steps(self, values: Any) -> dict[Cause, str]:
        self.keys(values, frozenset(CAUSES), "next_steps")
        return {cause: self.text(values[cause], f"next_steps.{cause}") for cause in CAUSES if cause in values}

    def text(self, value: Any, place: str) -> str:
        if not isinstance(value, str) or not value.strip():
            self.fail(f"expected a text, found {quote(repr(value))}", place)
        return value.strip()

    def rule(self, number: int, entry: Any, thresholds: Mapping[str, float]) -> Rule:
        place = f"rule {number}"
        self.keys(entry, _RULE_KEYS, place)
        for key in sorted(_RULE_KEYS):
            if key not in entry:
                self.fail(f"it has no {key}", place)
        cause = entry["cause"]
        if cause not in CAUSES:
            self.fail(
                f"unknown cause {quote(repr(cause))}; the causes are: {', '.join(CAUSES)}", f"{place}: cause"
            )
        because = self.text(entry["because"], f"{place}: because")
        for name in PLACEHOLDER.findall(because):
            self.signal(name, f"{place}: because")
        when = entry["when"]
        if not isinstance(when, list) or not 0 < len(when) <= MAX_CONDITIONS:
            self.fail(f"expected a list of 1 to {MAX_CONDITIONS} conditions", f"{place}: when")
        conditions = tuple(self.condition(each, f"{place}: when", thresholds) for each in when)
        return Rule(number, cause, because, conditions)

    def signal(self, name: str, place: str) -> None:
        if name not in SIGNALS:
            near = difflib.get_close_matches(name, SIGNALS, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            self.fail(
                f"unknown signal {quote(name)!r}.{guess}", place, hint=f"Signals: {', '.join(SIGNALS)}."
            )

    def condition(self, text: Any, place: str, thresholds: Mapping[str, float]) -> Condition:
        match = _CONDITION.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            shape = 'a condition is "SIGNAL >= NUMBER" (or <=, <, >), or "SIGNAL is true" (or false, unknown)'
            self.fail(f"cannot read {quote(repr(text))}; {shape}", place)
        name, sign, value = match.groups()
        self.signal(name, place)
        if sign == "is":
            if value not in _WORDS:
                self.fail(f"{quote(text)!r}: after `is`, write true, false or unknown", place)
            if _WORDS[value] is not None and not SIGNALS[name].is_yes_no:
                self.fail(f"{quote(text)!r}: {name} is a number; compare it with a number", place)
            return Condition(name, "is", _WORDS[value], text)
        if SIGNALS[name].is_yes_no:
            self.fail(f"{quote(text)!r}: {name} is true or false; write `{name} is true`", place)
        return Condition(name, cast("Operator", sign), self.limit(value, text, place, thresholds), text)

    def limit(self, value: str, text: str, place: str, thresholds: Mapping[str, float]) -> float:
        if value in thresholds:
            return thresholds[value]
        try:
            number = float(value)
        except ValueError:
            known = ", ".join(thresholds) or "none"
            self.fail(
                f"{quote(text)!r}: {value!r} is not a number and not a threshold; thresholds: {known}", place
            )
        self.number(number, place)
        return number
