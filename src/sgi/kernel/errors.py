"""Error classes; each error has a message and a hint for the user."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sgi.kernel.short_text import quote, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_MAX_NAME = 200
_WAY_OUT = (
    "Score both runs with the same settings, select other metrics, or accept the differences with"
    " `allow_different`."
)


class SgiError(Exception):
    """An error that the user can fix; the CLI prints it without a traceback and exits with code 2.

    >>> str(SgiError("No such model.", hint="Run `sgi study models`."))
    'No such model. Run `sgi study models`.'
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        stop = "." if self.hint and not self.message.endswith((".", "?", "!", ":")) else ""
        return f"{self.message}{stop} {self.hint}".rstrip()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """Support copies and transfer between processes, although constructors differ from class to class."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[SgiError], args: tuple[object, ...], state: dict[str, object]) -> SgiError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UsageError(SgiError):
    """The call itself is wrong: an unknown option, an impossible combination."""


class UnknownNameError(UsageError):
    """A name is unknown; the message suggests the closest known names."""

    def __init__(self, kind: str, name: str, suggestions: tuple[str, ...] = (), *, hint: str = "") -> None:
        near = f" Did you mean {' or '.join(repr(s) for s in suggestions)}?" if suggestions else ""
        super().__init__(f"Unknown {kind} {shorten(name, _MAX_NAME)!r}.{near}", hint=hint)
        self.kind = kind
        self.name = name
        self.suggestions = suggestions


class MissingExtraError(UsageError):
    """An optional dependency is not installed; the hint contains the pip command."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs the extra {extra!r}.",
            hint=f"Install it: pip install {install_target(extra)}",
        )
        self.extra = extra


@contextmanager
def require_extra(purpose: str, extra: str) -> Iterator[None]:
    """Context manager for imports: raises MissingExtraError if one of them fails.

    >>> with require_extra("This example", "dspy"):
    ...     import no_such_package
    Traceback (most recent call last):
    sgi.kernel.errors.MissingExtraError: This example needs the extra 'dspy'. Install it: pip install ...
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(purpose, extra) from error


class DataError(SgiError):
    """A row or a file cannot be read; the message contains the file, line, sample id and field.

    >>> str(DataError("expected text, found 3", file="a.jsonl", line=7, sample_id="q1", field="question"))
    "a.jsonl:7: id 'q1': field 'question': expected text, found 3"
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        sample_id: str | None = None,
        field: str | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.file = file
        self.line = line
        self.sample_id = sample_id
        self.field = field

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"row {self.line}"
        parts = [place] if place else []
        if self.sample_id is not None:
            parts.append(f"id {self.sample_id!r}")
        if self.field is not None:
            parts.append(f"field {self.field!r}")
        return ": ".join([*parts, super().__str__()])


class TruncationWarning(UserWarning):
    """A text is longer than the embedding model reads, so that its end has no effect on a score."""


class EmbedderError(SgiError):
    """An embedder returned no usable vectors; the affected rows get the status ``failed``."""


class DimensionError(EmbedderError, ValueError):
    """An embedder returned vectors of different dimensions."""


class ModelMissingError(EmbedderError):
    """The model's files are missing."""


class ModelCorruptError(EmbedderError):
    """The model's files are invalid, or differ from the published ones (sha256)."""


class NonFiniteVectorError(EmbedderError):
    """An embedder returned NaN, infinity or the zero vector for ``texts``."""

    def __init__(self, message: str, *, texts: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.texts = texts


class TargetError(SgiError):
    """The target (the RAG system under test) returned no answer; the row gets the status ``failed``."""


class JudgeError(SgiError):
    """A judge returned no usable reply; the row gets the status ``failed``.

    ``text`` is the last reply, empty if there was none. ``cached`` is True if all replies came from the
    cache. ``answered`` is True if the service answered the request with an error, which it does not bill.
    """

    def __init__(self, message: str, *, text: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.text = text
        self.cached = False
        self.answered = False


class JudgeUnavailableError(JudgeError):
    """The judge is unreachable or too busy; a later request may succeed.

    ``retry_after`` is the wait in seconds that the service requests, if any; ``throttled`` is True if the
    service limits the rate of requests.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, throttled: bool = False, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after
        self.throttled = throttled


class JudgeRejectedError(JudgeError):
    """The judge's service rejects all requests (key, model or quota); a retry cannot help."""


class JudgeRefusedError(JudgeError):
    """The judge or a content filter declined this request; a retry cannot help."""


class JudgeMalformedError(JudgeError):
    """The judge's reply does not match the schema."""


class BudgetExceededError(SgiError):
    """The run reached its cost limit; resume it with a higher limit."""


class StoreError(SgiError):
    """A cache or a database cannot be opened, read or written."""


class SchemaVersionError(StoreError):
    """A database or an export has the schema version ``found``, but this version of SGI needs ``needed``."""

    def __init__(self, place: str, found: str, needed: str, *, hint: str) -> None:
        self.place = place
        self.found = quote(found)  # an untrusted text
        self.needed = needed
        message = f"{place} has the schema version {self.found}, but this version of SGI needs {needed}."
        super().__init__(message, hint=hint)


class StoreDamagedError(StoreError):
    """A database was damaged, removed or replaced: what was stored in it may be lost."""


class RunBusyError(StoreError):
    """Another process writes the run; the message names the process."""


class RunMismatchError(StoreError):
    """A run cannot be resumed, because its data, models or settings changed."""


class NotPairedError(UsageError):
    """No row of a run has a partner in the other, or rows with the same id have different questions."""


class NotComparableError(UsageError):
    """The runs ``base`` and ``new`` differ in more than their responses; ``differences`` lists how."""

    def __init__(self, base: str, new: str, differences: Sequence[object]) -> None:
        listed = "; ".join(map(str, differences))
        super().__init__(f"{base} and {new} differ in more than their responses. {listed}.", hint=_WAY_OUT)
        self.base, self.new = base, new
        self.differences = tuple(differences)


class ScorerBusyError(SgiError):
    """Too many rows are waiting; retry after ``retry_after`` seconds."""

    retry_after = 1


class ScorerClosedError(SgiError):
    """The scorer was closed before it scored these rows."""

    def __init__(
        self,
        message: str = "The scorer is closed.",
        *,
        hint: str = "Create another scorer, or start the server again.",
    ) -> None:
        super().__init__(message, hint=hint)


DISTRIBUTION = "semantic-grounding-index"


def install_target(*extras: str) -> str:
    """Return the arguments of ``pip install`` that install this package from the same source, with extras.

    A checkout is named by its path (``.`` in the checkout itself), another direct source by its URL, and a
    package of an index by its name. Source: PEP 610, ``direct_url.json``.

    >>> install_target("judge").endswith('[judge]"')
    True
    """
    extras_suffix = f"[{','.join(extras)}]" if extras else ""
    source = _direct_url()
    url = str(source.get("url", ""))
    if "dir_info" in source:
        from urllib.request import url2pathname

        folder = Path(url2pathname(urlsplit(url).path))
        if (folder / "pyproject.toml").is_file():
            editable = "-e " if source["dir_info"].get("editable") else ""
            name = "." if folder.resolve() == Path.cwd() else str(folder)
            return f'{editable}"{name}{extras_suffix}"'
    elif url:
        kind = source.get("vcs_info", {}).get("vcs")
        return f'"{DISTRIBUTION}{extras_suffix} @ {f"{kind}+" if kind else ""}{url}"'
    return f'"{DISTRIBUTION}{extras_suffix}"'


@cache
def _direct_url() -> dict[str, Any]:
    """Return the installer's record of the source; empty for a package from an index."""
    try:
        content = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return {}
    return dict(json.loads(content)) if content else {}
