"""The option ``--fast``: the fastest arithmetic, and what it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.cli.console import print_message
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def select_precision(precision: str | None, *, fast: bool) -> str | None:
    """Return the value of ``--precision``, or ``fast`` if ``--fast`` is given; refuse both."""
    if not fast:
        return precision
    if precision not in {None, "auto"}:
        hint = "--fast chooses the precision. Leave one of them out."
        raise UsageError("--fast cannot be combined with --precision.", hint=hint)
    from sgi.models.embedder.load import FAST

    return FAST


def print_fast_profiles(embedders: Sequence[str | Path], backend: str, precision: str) -> None:
    """If the precision is ``fast``, print which arithmetic each model uses, and how it changes metrics."""
    from sgi.models.embedder.load import FAST
    from sgi.models.known_models import DEFAULT_MODEL

    if precision != FAST:
        return
    from sgi.engine.fast_profile import fast_profile

    for name in embedders or (DEFAULT_MODEL,):
        profile = fast_profile(name, backend)
        lines = [f"Fast: {name} has only one arithmetic."] if profile is None else profile.lines()
        for line in lines:
            print_message(line)
