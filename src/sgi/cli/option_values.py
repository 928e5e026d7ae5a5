"""Parses the values of command line options."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.cli.console import print_message
from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.kernel.metric import AnyMetric

_FIELDS = "id|question|contexts|response|reference|label"


def metric_list(texts: list[str]) -> list[str]:
    """Split lists of metrics at commas outside parentheses and quotes.

    >>> metric_list(["sgi,rouge_l(beta=1.2)", "semantic_similarity(models=['a', 'b'])"])
    ['sgi', 'rouge_l(beta=1.2)', "semantic_similarity(models=['a', 'b'])"]
    """
    names = []
    for text in texts:
        depth, start, quote, escaped = 0, 0, "", False
        for index, character in enumerate(text):
            if quote:
                quote = "" if character == quote and not escaped else quote
                escaped = character == "\\" and not escaped
            elif character in "'\"":
                quote = character
            elif character == "," and depth == 0:
                names.append(text[start:index])
                start = index + 1
            else:
                depth += (character in "([") - (character in ")]")
        names.append(text[start:])
    return [name.strip() for name in names if name.strip()]


def scored_metrics(metric: list[str] | None, define: Path | None) -> tuple[AnyMetric, ...] | None:
    """Return the metrics of ``-m``, or else those of ``--define``; None if both are absent.

    Raises:
        UsageError: a metric is unknown or named twice, or a definition is not valid.
    """
    from sgi.metrics.definitions import Definitions

    defined = Definitions.of(define).metrics
    names = metric_list(metric or []) or [*defined]
    return resolve(names, defined) if names else None


def stored_metrics(names: Sequence[str], define: Path | None) -> list[str]:
    """Return names of metrics of a run; without names, those that the file of ``--define`` defines.

    A name that the file defines becomes its canonical string, so a run with another definition of this name
    does not have it.

    Raises:
        UsageError: a definition is not valid.
    """
    from sgi.metrics.definitions import Definitions

    defined = Definitions.of(define).metrics
    return [defined[name].canonical if name in defined else name for name in names or defined]


def metric_pair(text: str | None) -> tuple[str, str] | None:
    """Split two metrics at the comma; None gives None.

    Raises:
        UsageError: these are not two metrics.
    """
    if text is None:
        return None
    match metric_list([text]):
        case [quality, cost]:
            return quality, cost
    raise UsageError(f"--pareto takes two metrics, not {text!r}.", hint="Example: --pareto grounding,latency")


def select_embedders(names: Sequence[str] | None, metrics: Iterable[str | AnyMetric] | None) -> list[str]:
    """Return the embedders of a command: those of ``-e``, or the default one if none is given.

    Prints a note on stderr if the environment selects Azure. An empty list stands for the bundled model.

    Args:
        names: from ``--embedder`` or a TOML file.
        metrics: the metrics to score; None if the data decides.

    Raises:
        UsageError: no name is given, and only some of Azure's variables are set.
    """
    from sgi.models.embedder.remote_service import Service, default_embedder
    from sgi.models.known_models import DEFAULT_MODEL

    embeds = metrics is None or any(metric(name).vector_needs for name in metrics)
    if names or not embeds:
        return list(names or ())
    name = default_embedder()
    if name == DEFAULT_MODEL:
        return []
    where = f"{name} at {Service.of('azure').address}"
    print_message(
        f"The AZURE_OPENAI_… variables are set: texts are sent to {where}. Use -e minilm to stay offline."
    )
    return [name]


def column_map(texts: list[str] | None) -> dict[str, str]:
    """Parse ``field=column`` pairs.

    >>> column_map(["response=model output", "label="])
    {'response': 'model output', 'label': ''}

    Raises:
        UsageError: a text is not a pair, or a field occurs twice.
    """
    columns: dict[str, str] = {}
    for text in texts or ():
        field, equals, column = text.partition("=")
        field = field.strip()
        if not (field and equals):
            raise UsageError(f"Cannot read --map {text!r}.", hint="Write --map field=column.")
        if re.search(rf",\s*({_FIELDS})=", column):
            raise UsageError(f"--map {text!r} has two fields.", hint="Write one --map for each field.")
        if field in columns:
            hint = f"To join columns: --map {field}={columns[field]},{column}."
            raise UsageError(f"--map has the field {field!r} twice.", hint=hint)
        columns[field] = column
    return columns


def target_settings(where: str | None, settings: list[str] | None) -> dict[str, Any] | None:
    """Parse the options of a target; return None if there are none. An empty value stands for None.

    >>> target_settings("app:answer", ["concurrency=2", "body.top_k=5", "headers.X-Key=${KEY}"])
    {'where': 'app:answer', 'concurrency': '2', 'body': {'top_k': 5}, 'headers': {'X-Key': '${KEY}'}}
    """
    values: dict[str, Any] = {} if where is None else {"where": where}
    for text in settings or ():
        key, equals, value = text.partition("=")
        group, dot, name = key.strip().partition(".")
        if not (key.strip() and equals) or (dot and group not in {"body", "headers"}):
            raise UsageError(f"Cannot read --target-set {text!r}.", hint="Write --target-set concurrency=16.")
        if dot:
            values.setdefault(group, {})[name] = _literal(value) if group == "body" else value
        else:
            values[group] = value or None
    return values or None


def _literal(text: str) -> Any:
    """Return the JSON value if the text is valid JSON, otherwise the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def judge_settings(
    settings: list[str] | None, values: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return the settings of a judge: values, and texts KEY=VALUE; None if there are none.

    >>> judge_settings(["seed=7"], {"model": "openai:gpt-4o-mini", "rpm": 500})
    {'model': 'openai:gpt-4o-mini', 'rpm': 500, 'seed': '7'}
    """
    read = {**(values or {})}
    for text in settings or ():
        key, equals, value = text.partition("=")
        if not (key.strip() and equals):
            raise UsageError(f"Cannot read --judge-set {text!r}.", hint="Write --judge-set seed=7.")
        read[key.strip()] = value or None
    return read or None


def cache_choice(path: Path | None, *, no_cache: bool) -> bool | Path:
    """Return the vector cache: a file, the user's default cache (True), or no cache on disk (False)."""
    if path is not None and no_cache:
        raise UsageError("Use --cache or --no-cache, not both.")
    return path if path is not None else not no_cache


def open_share(option: str, text: str | None) -> float:
    """Return the share in (0, 1) that an option gives, such as 30%. Raises UsageError for other values."""
    from sgi.engine.option_parsing import share

    if text is None:
        raise UsageError(f"{option} is required for a guess.", hint=f"For example {option} 30%.")
    value = share(text)
    if not 0 < value < 1:
        raise UsageError(f"{option} must be between 0 and 1, not {text}.", hint="30% is 0.3.")
    return value


def positive(option: str, value: float | None) -> float:
    """Return the finite number above 0 that an option gives. Raises UsageError for other values."""
    if value is None or not 0 < value < float("inf"):
        raise UsageError(f"{option} must be above 0, not {value}.")
    return value
