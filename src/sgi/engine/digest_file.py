"""Base of JSON files with a format version and a digest of their content, such as a calibration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from os import PathLike, fsdecode
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, computed_field

from sgi.kernel.errors import UsageError
from sgi.kernel.parsing import read_json
from sgi.kernel.short_text import quote, short
from sgi.kernel.signature import canonical_json, digest

if TYPE_CHECKING:
    from collections.abc import Iterator

FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DigestFile(BaseModel):
    """A file with a digest; a file whose content was changed is rejected. The digest is not a signature.

    Attributes:
        FORMAT: the version of the format; a change that older versions cannot read increases it.
        KIND: what the file is, for messages.
        MADE_BY: the command that makes one.
        AGAIN: how to make it again, as a sentence without its end: ``Calibrate again``.
        ANEW: how to replace a file that does not fit.
    """

    model_config = FROZEN

    FORMAT: ClassVar[int]
    KIND: ClassVar[str]
    MADE_BY: ClassVar[str]
    AGAIN: ClassVar[str]
    ANEW: ClassVar[str]

    @computed_field  # type: ignore[prop-decorator]  # mypy does not support decorated properties
    @cached_property
    def digest(self) -> str:
        """A hash of the other fields, as canonical JSON."""
        return digest(canonical_json(self.model_dump(mode="json", exclude={"digest"})), size=4).hex()

    def to_json(self) -> str:
        """Return the file's text; equal contents have equal texts."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def read(cls, value: object) -> Self:
        """Read a file from a path, or from the result of ``model_dump``.

        Raises:
            UsageError: the file cannot be read, has an unknown format, or does not match its digest.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, (str, PathLike)):
            path = fsdecode(value)
            content = read_json(Path(path), error=UsageError, hint=f"`{cls.MADE_BY}` makes one.")
            return cls._of_content(content, path)
        return cls._of_content(value, f"the {cls.KIND}")

    @classmethod
    def _of_content(cls, content: Any, place: str) -> Self:
        if not isinstance(content, Mapping) or "format" not in content:
            raise UsageError(f"{place}: the file is not a {cls.KIND}.", hint=f"`{cls.MADE_BY}` makes one.")
        if content["format"] != cls.FORMAT:
            shown = f"format {short(content['format']):.20}; this version reads format {cls.FORMAT}"
            raise UsageError(
                f"{place}: the file has {shown}.",
                hint=f"{cls.AGAIN}, or use the version of SGI that wrote the file.",
            )
        try:
            found = cls.model_validate({key: content[key] for key in content if key != "digest"})
        except ValidationError as errors:
            problems = "; ".join(_faults(errors)).rstrip(".")
            raise UsageError(
                f"{place}: the file is not a {cls.KIND}: {problems}.", hint=f"{cls.AGAIN}."
            ) from None
        if "digest" not in content:
            message = f"{place}: the file has no digest, so SGI cannot check that it is unchanged."
            raise UsageError(message, hint=cls.ANEW)
        if content["digest"] != found.digest:
            digests = f"its digest is {short(content['digest']):.20}, that of its content {found.digest!r}"
            raise UsageError(f"{place}: the file was changed since it was fitted: {digests}.", hint=cls.ANEW)
        return found


def _faults(errors: ValidationError) -> Iterator[str]:
    for fault in errors.errors(include_url=False, include_input=False, include_context=False)[:3]:
        place = ".".join(quote(str(part), 60) for part in fault["loc"])  # names of a damaged file
        problem = fault["msg"].removeprefix("Value error, ")
        yield f"{place}: {problem}" if place else problem
