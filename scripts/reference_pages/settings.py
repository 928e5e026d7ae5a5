"""The page of the settings in TOML files, and the page of environment variables."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic_core import PydanticUndefined
from reference_pages.data import ENVIRONMENT, exit_codes_table
from reference_pages.markdown import block, code, page, prose, sentence, table, text

from sgi.analysis.diagnosis import decision_table as diagnosis
from sgi.analysis.gate import rules
from sgi.engine.cascade import Cascade
from sgi.engine.flags import Flag
from sgi.engine.run_options import RunOptions
from sgi.kernel import telemetry
from sgi.kernel.details import describe_keys
from sgi.kernel.entailment_profile import EntailmentProfile
from sgi.llm.judge_spec import JudgeSpec
from sgi.metrics import definitions
from sgi.target.target_spec import TargetSpec

_STORED = {"fitted"}
"""Fields that a run writes itself."""
_GATE = {
    "coverage": "Share of rows that must have a value, from 0 to 1: at the top for all rules, or in a rule.",
    "metric": "The metric, with its parameters. Required.",
    "statistic": "`mean` (default), or a percentile from `p1` to `p99`, such as `p95`.",
    "at_least": "The value must be at least this.",
    "above": "The value must be above this.",
    "at_most": "The value must be at most this.",
    "below": "The value must be below this.",
    "max_drop": "The mean may be worse than that of the baseline run by at most this.",
}
_DEFINITION = {
    "metric": "The name of a metric of SGI. Required. The other keys of the table are its parameters.",
    "description": "A text for `sgi metrics NAME --define FILE`.",
    "higher_is_better": "`true` or `false`. Default: as for the metric.",
}
_DIAGNOSIS = {
    "thresholds": "A table of named numbers that conditions use.",
    "next_steps": "A table: for a cause, what to do.",
    "rule": "A list of tables, `[[rule]]`. The first rule whose conditions all hold decides.",
    "cause": "In a rule: the cause.",
    "because": "In a rule: a sentence. `{signal}` stands for the value of a signal.",
    "when": 'In a rule: a list of conditions, such as `"grounding < low"` or `"refused is true"`.',
}


def settings_page() -> str:
    """Return the page of every key of every TOML file."""
    _require(_GATE, {"coverage", "metric", "statistic", *rules._KEYS})
    _require(_DEFINITION, definitions._OWN_KEYS)
    _require(_DIAGNOSIS, diagnosis._KEYS | diagnosis._RULE_KEYS)
    head = (
        "Every key of every TOML file that SGI reads. An unknown key is an error that names the closest "
        "known key. Options of the command line override the file. TOML has no null: None in a "
        "description is what you get without the key."
    )
    return page(
        "Settings in TOML files",
        head,
        "## Run\n\n`sgi run nightly.toml` reads these keys. Paths are relative to the folder of the file.",
        _fields(RunOptions),
        _section("Run: `[target]`", TargetSpec),
        _section("Run: `[judge]`", JudgeSpec),
        _section("Run: `[cascade]`", Cascade),
        "## Gate\n\n`sgi gate RUN rules.toml` and `sgi study watch` read rules.",
        _keys(_GATE),
        _example(rules.read_rules),
        "## Definitions of metrics\n\n`--define metrics.toml` reads a table for each metric; its name is the "
        "name of the table. See [own metrics](../own-metrics.md).",
        _keys(_DEFINITION),
        "## Diagnosis\n\n`sgi diagnose --table table.toml` reads a decision table. See "
        "[diagnosis](../find-what-is-wrong.md#change-the-rules-of-a-diagnosis).",
        _keys(_DIAGNOSIS),
        "## Entailment profile\n\n`--nli profile.toml` reads how a model is used. "
        "See [entailment](../entailment.md).",
        _fields(EntailmentProfile),
    )


def _require(described: dict[str, str], known: Any) -> None:
    """Raise if the descriptions are not those of all keys that the code knows."""
    if described.keys() != {*known}:
        raise ValueError(f"described keys: {sorted(described)}; the code knows: {sorted(known)}")


def _keys(described: dict[str, str]) -> str:
    return table(["key", "meaning"], [(code(key), words) for key, words in described.items()])


def _section(title: str, kind: type[Any]) -> str:
    notes = prose(inspect.getdoc(kind) or "", without=frozenset({"Attributes", "Raises"}))
    notes = "\n\n".join(part for part in notes.split("\n\n") if not part.startswith("```pycon"))
    return f"## {title}\n\n{notes}\n\n{_fields(kind)}"


def _fields(kind: type[Any]) -> str:
    fields = {name: field for name, field in kind.model_fields.items() if name not in _STORED}
    if kind is RunOptions:
        fields = {name: fields[name] for name in RunOptions.stored_names()}
    helps = {name: _help(field) for name, field in fields.items()}
    described = {name: words for name, words in helps.items() if words} | describe_keys(kind)
    if missing := fields.keys() - described.keys() - {"name", "alias", "model"}:
        raise ValueError(f"{kind.__name__} does not describe {sorted(missing)}")
    rows = [
        (code(name), text(sentence(described.get(name, ""))), _default(field))
        for name, field in fields.items()
    ]
    return table(["key", "meaning", "default"], rows)


def _help(field: Any) -> str:
    """Return the help of the flag that sets a field; "" without one."""
    return next((each.help for each in field.metadata if isinstance(each, Flag)), "")


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined or not isinstance(value, (str, int, float)):
        return "none"
    return code(str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"'))


def _example(function: Any) -> str:
    """Return the block of code in a docstring that follows ``::``."""
    lines = (inspect.getdoc(function) or "").partition("::\n")[2].splitlines()
    code_lines = []
    for line in lines:
        if line and not line.startswith("    "):
            break
        code_lines.append(line.removeprefix("    "))
    return block("\n".join(code_lines).strip("\n"), "toml")


def environment_page() -> str:
    """Return the page of the environment variables and the exit codes."""
    variables = ENVIRONMENT["variables"]
    rows = [
        (
            code(name),
            each["meaning"],
            each.get("default", "none"),
            each["readers"],
            "yes" if each.get("secret") else "no",
        )
        for name, each in variables.items()
    ]
    libraries = [
        (", ".join(map(code, each["names"])), each["meaning"], each["library"])
        for each in ENVIRONMENT["libraries"]
    ]
    return page(
        "Environment variables and exit codes",
        "Every variable that SGI reads. An option of the command line is used before its variable. Secrets "
        "are not printed or stored.",
        table(["variable", "what it does", "default", "read by", "secret"], rows),
        "A file `.env` in the working folder can also set "
        f"{', '.join(code(name) for name, each in variables.items() if each.get('dotenv'))}.",
        "The settings of a target can contain `${NAME}`, a variable of your own. See "
        "[targets](../own-system.md).",
        "## Variables of libraries\n\nLibraries read these and other variables.",
        table(["variable", "what it does", "read by"], libraries),
        "## Variables that SGI sets\n\n`import sgi` sets these, so that libraries send no usage reports.",
        table(["variable", "value"], [(code(k), code(v)) for k, v in telemetry.VARIABLES.items()]),
        f"## Exit codes\n\nEvery command uses these.\n\n{exit_codes_table()}",
    )
