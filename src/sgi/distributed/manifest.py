"""The file ``run.json`` of a folder of partitions: what the run is, how its data is cut, what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the annotations
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Self

from pydantic import ValidationError

from sgi.distributed.fragments import Fragment  # noqa: TC001 - likewise
from sgi.distributed.partition import Manifest, made_anew, partition_name
from sgi.io.write import json_line
from sgi.kernel.errors import RunMismatchError, StoreError, UsageError
from sgi.kernel.json_shapes import AnyText, JsonObject, Rows, checked, first_problem
from sgi.kernel.provenance import MetricProvenance  # noqa: TC001 - likewise
from sgi.kernel.signature import canonical_json, digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.distributed.storage import Folder, Source

FORMAT = 3
"""Raised when folders change so that older versions cannot read them."""
_NAME = "run.json"
_ANOTHER = "Name another folder with -o, or take this one away."


@dataclass(frozen=True)
class Piece:
    """A fragment and what was found in it.

    Attributes:
        fragment: the part of a file.
        digest: a hash of its samples.
        rows: how many samples it has.
        rejected: how many of its rows cannot be read.
        taken: ids that stand in fragments before, with their places; rows with them are among the rejected.
    """

    fragment: Fragment
    digest: AnyText
    rows: Rows
    rejected: Rows
    taken: Mapping[AnyText, AnyText] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptRun:
    """A run over partitions.

    Attributes:
        spec: how it was asked for, as `RunSpec.stored` gives it, its metrics named.
        spec_hash: tells specs apart that can give other numbers.
        signature: everything that can change a number.
        versions: of the packages that made the numbers.
        dataset: what messages call the data.
        metrics: what is scored, by canonical strings.
        pieces: the fragments in the order of the data.
        summary: the headline; None until all is done.
        provenance: what computes each metric, by canonical string.
    """

    spec: JsonObject
    spec_hash: AnyText
    signature: AnyText
    versions: Mapping[AnyText, AnyText]
    dataset: AnyText
    metrics: tuple[AnyText, ...]
    pieces: tuple[Piece, ...]
    summary: JsonObject | None = None
    provenance: Mapping[AnyText, MetricProvenance] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """A hash of what is written into partitions."""
        facts = [
            self.spec_hash,
            self.signature,
            bool(self.spec.get("inputs")),
            [p.digest for p in self.pieces],
        ]
        return digest(canonical_json(facts)).hex()

    @property
    def rows(self) -> int:
        """All samples."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def rejected(self) -> int:
        """All rows that cannot be read."""
        return sum(piece.rejected for piece in self.pieces)

    def begin(self, folder: Folder) -> None:
        """Write the file into a folder that has none.

        Raises:
            RunMismatchError: another driver wrote the file of another run, or of another partitioning.
        """
        folder.make()
        if not folder.create(_NAME, self._content()):
            self.check_still(folder)

    def end(self, folder: Folder) -> None:
        """Write the file with its summary, over the one of the same run."""
        folder.put(_NAME, self._content())

    def check_still(self, folder: Folder) -> None:
        """Raise a RunMismatchError where the folder is no longer of this run."""
        there = KeptRun.read(folder)
        if there is None or (there.identity, there.pieces) != (self.identity, self.pieces):
            raise RunMismatchError(
                f"{folder.shown(_NAME)} is of another run: two were begun in one folder at one time.",
                hint="Name another folder with -o, or give the same command again once the other has ended.",
            )

    def _content(self) -> bytes:
        return json_line({"sgi_partitions": FORMAT, **asdict(self)})

    @classmethod
    def read(cls, folder: Folder) -> Self | None:
        """The run of a folder; None where the folder is empty, or not there.

        Raises:
            UsageError: the folder holds something else.
            StoreError: the file is damaged, or a newer version wrote it.
        """
        text = folder.read(_NAME)
        if text is None:
            if any(not name.startswith(".") for name in folder.names()):
                raise UsageError(
                    f"The folder {folder.text} holds other files.", hint="Name another one with -o."
                )
            return None
        return cls.of(text, folder.shown(_NAME))

    @classmethod
    def of(cls, text: bytes, file: str) -> Self:
        """The run that a file describes.

        Raises:
            StoreError: it is damaged, or another version wrote it.
        """
        try:
            values = json.loads(text)
            if not isinstance(values, dict):
                raise StoreError(f"{file} is damaged: it is not an object.", hint=_ANOTHER)
            if values.pop("sgi_partitions", None) != FORMAT:
                raise StoreError(f"Another version of SGI wrote {file}.", hint=_ANOTHER)
            made: Self = checked(cls, values)
        except ValidationError as errors:
            raise StoreError(f"{file} is damaged: {first_problem(errors)}.", hint=_ANOTHER) from errors
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{file} is damaged: it is not JSON.", hint=_ANOTHER) from error
        return made

    def done(self, folder: Folder) -> dict[int, Manifest]:
        """The partitions of this run that are there whole, by number; the others are still to be made."""
        return {
            number: manifest
            for number, manifest in self._manifests(folder).items()
            if self._is_own(number, manifest) and manifest.changed_file(folder) is None
        }

    def written(self, folder: Folder) -> dict[int, Manifest]:
        """The partitions whose manifests are there, by number; their files are checked where they are read.

        Raises:
            StoreError: one is of another run.
        """
        found = self._manifests(folder)
        for number, manifest in found.items():
            if not self._is_own(number, manifest):
                name = partition_name(number)
                message = f"{folder.shown(name)}.json is of another run than {folder.shown(_NAME)}."
                raise StoreError(message, hint=made_anew(folder, name))
        return found

    def _is_own(self, number: int, manifest: Manifest) -> bool:
        return (manifest.run, manifest.fragment) == (self.identity, self.pieces[number].digest)

    def _manifests(self, folder: Folder) -> dict[int, Manifest]:
        names = folder.names()
        found: dict[int, Manifest] = {}
        for number in range(len(self.pieces)):
            name = f"{partition_name(number)}.json"
            text = folder.read(name) if name in names else None
            if text is None:
                continue
            found[number] = Manifest.of(text, folder.shown(name))
        return found

    def check_sources(self, sources: Sequence[Source], folder: Folder) -> None:
        """Raise a RunMismatchError where the files are not those that were cut."""
        then = {piece.fragment.source for piece in self.pieces}
        changed = sorted({source.shown for source in then ^ set(sources)})
        if changed:
            raise _mismatch(folder, f"its data ({changed[0]})")

    def check_same(self, now: KeptRun, folder: Folder) -> None:
        """Raise a RunMismatchError that says what is no longer as it was when the folder was begun."""
        pairs = zip(self.pieces, now.pieces, strict=True)
        data = next((old.fragment.source.shown for old, new in pairs if old.digest != new.digest), None)
        if data is not None:
            raise _mismatch(folder, f"its data ({data})")
        if (self.spec_hash, self.metrics) != (now.spec_hash, now.metrics):
            raise _mismatch(folder, "what was asked for")
        if self.signature != now.signature:
            raise _mismatch(folder, f"what makes its numbers (then {self.signature}, now {now.signature})")
        if self.identity != now.identity:
            raise _mismatch(folder, "whether texts are written (--inputs)")


def _mismatch(folder: Folder, what: str) -> RunMismatchError:
    return RunMismatchError(f"The run in {folder.text} cannot go on: {what} changed.", hint=_ANOTHER)
