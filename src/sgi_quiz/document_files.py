"""The files of a quiz: found in folders, read one after the other, with a reason for each that is skipped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgi.kernel.errors import DataError, SgiError, UsageError
from sgi_quiz.readers import READERS, read_passages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sgi_quiz.passages import Passage


@dataclass
class Documents:
    """The files below some paths.

    Attributes:
        files: the files that are read, each with its name in the quiz.
        skipped: the files that cannot be read, with the reason.
        other: the number of files with another suffix.
    """

    files: list[tuple[Path, str]]
    encoding: str | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    other: int = 0

    @classmethod
    def find(cls, paths: Sequence[Path], encoding: str | None = None) -> Documents:
        """Find the files; hidden ones are left out. Raises UsageError for a path that does not exist."""
        documents = cls([], encoding)
        for path in paths:
            if not path.exists():
                raise UsageError(f"{path} does not exist.", hint="Name a file or a folder with documents.")
            if path.is_dir():
                documents._walk(path, in_full=len(paths) > 1)
            elif path.suffix.casefold() in READERS:
                documents.files.append((path, path.as_posix() if len(paths) > 1 else path.name))
            else:
                hint = f"It can be {', '.join(READERS)}."
                raise UsageError(f"The suffix of {str(path)!r} is not a format that can be read.", hint=hint)
        documents.files.sort(key=lambda pair: pair[1])
        return documents

    def _walk(self, folder: Path, *, in_full: bool) -> None:
        root = folder.resolve()
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            name = (path if in_full else inside).as_posix()
            is_hidden = any(part.startswith(".") for part in inside.parts)
            if is_hidden or (
                path.is_dir() and (not path.is_symlink() or path.resolve().is_relative_to(root))
            ):
                continue  # what a link in the folder names is read where it is
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                self.skipped[name] = "is a link out of the folder"
            elif path.suffix.casefold() in READERS:
                self.files.append((path, name))
            else:
                self.other += 1

    def passages(self) -> Iterator[Passage]:
        """Yield the passages of all files; a file that cannot be read is skipped with its reason."""
        for path, name in self.files:
            if name in self.skipped:
                continue
            try:
                found = False
                for passage in read_passages(path, name, self.encoding):
                    found = True
                    yield passage
                if not found:
                    self.skipped[name] = "has no text"
            except DataError as error:
                place = f"line {error.line}: " if error.line else ""
                self.skipped[name] = f"{place}{error.message}"
            except SgiError as error:
                self.skipped[name] = f"{error} {error.hint}".strip()
            except OSError as error:
                self.skipped[name] = f"cannot be read: {error.strerror or error}"
