"""Parses and checks single options of a run."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from sgi.engine.calibration_file import read_calibration
from sgi.kernel.errors import UsageError


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


def as_tuple(value: Any) -> Any:
    """Convert a single name to a tuple; other values stay unchanged."""
    return (value,) if isinstance(value, str) else value


def as_judge(value: Any) -> Any:
    """Convert the name of a judge to judge settings; other values stay unchanged."""
    return {"model": value} if isinstance(value, str) else value


def as_target(value: Any) -> Any:
    """Convert the location of a target to target settings; other values stay unchanged."""
    return {"where": value} if isinstance(value, str) else value


def as_on_error(value: Any) -> Any:
    """Convert ``raise`` to its synonym ``stop``; other values stay unchanged."""
    return "stop" if value == "raise" else value


def as_calibration(value: Any) -> Any:
    """Read a calibration file; None stays None."""
    return None if value is None else read_calibration(value)


def check_secrets(names: tuple[str, ...]) -> tuple[str, ...]:
    """Raise UsageError if a model's address contains a password, because runs store these addresses."""
    for name in names:
        if "@" in urlsplit(name.partition("@")[2]).netloc:
            hint = "Leave it out of the address: keys are read from the environment."
            raise UsageError("The address of an embedder must not contain a user or a password.", hint=hint)
    return names


def check_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return tags stripped, unique and sorted."""
    from sgi.store.run_names import checked_tags  # it imports the database

    return checked_tags(tags)


def check_rule(value: str) -> str:
    """Raise UsageError if a cluster rule is blank."""
    if not value.strip():
        raise UsageError(
            "The cluster rule is blank.", hint="Write question, contexts, row or the name of a column."
        )
    return value
