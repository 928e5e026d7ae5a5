"""The file ``run.json`` of a folder of partitions: settings, fragments and summary of the run."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the annotations
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Self

from pydantic import ValidationError

from sgi.distributed.fragments import Fragment  # noqa: TC001 - likewise
from sgi.distributed.partition import Manifest, partition_name, rerun_hint
from sgi.io.write import json_line
from sgi.kernel.errors import RunMismatchError, StoreError, UsageError
from sgi.kernel.json_shapes import AnyText, JsonObject, Rows, first_problem, validate
from sgi.kernel.provenance import MetricProvenance  # noqa: TC001 - likewise
from sgi.kernel.signature import canonical_json, digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.distributed.storage import Folder, Source

FORMAT = 3
"""Format version; increased when older versions cannot read a folder."""
_NAME = "run.json"
_OTHER_FOLDER_HINT = "Name another folder, or remove this one."


@dataclass(frozen=True)
class FragmentRecord:
    """A fragment, the hash and the number of its samples, and the number of unreadable rows.

    ``taken`` holds ids of earlier fragments, with their locations; rows with these ids count as rejected.
    """

    fragment: Fragment
    digest: AnyText
    rows: Rows
    rejected: Rows
    taken: Mapping[AnyText, AnyText] = field(default_factory=dict)


@dataclass(frozen=True)
class RunManifest:
    """Manifest of a run over partitions.

    Attributes:
        spec: settings of the run, with all metrics named and absolute paths.
        spec_hash: hash of the settings that affect numbers.
        dataset: name of the data in messages.
        metrics: canonical strings.
        pieces: fragments in the order of the data.
        summary: None until the run is finished.
        provenance: models, judge and prompts of each metric, by its canonical string.
    """

    spec: JsonObject
    spec_hash: AnyText
    signature: AnyText
    versions: Mapping[AnyText, AnyText]
    dataset: AnyText
    metrics: tuple[AnyText, ...]
    pieces: tuple[FragmentRecord, ...]
    summary: JsonObject | None = None
    provenance: Mapping[AnyText, MetricProvenance] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The hash of everything that determines the content of partitions."""
        facts = [
            self.spec_hash,
            self.signature,
            bool(self.spec.get("inputs")),
            [p.digest for p in self.pieces],
        ]
        return digest(canonical_json(facts)).hex()

    @property
    def rows(self) -> int:
        """The number of samples."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def rejected(self) -> int:
        """The number of unreadable rows."""
        return sum(piece.rejected for piece in self.pieces)

    def begin(self, folder: Folder) -> None:
        """Create ``run.json``. Raises RunMismatchError if another driver created it for another run."""
        folder.make()
        if not folder.create(_NAME, self._content()):
            self.check_still(folder)

    def end(self, folder: Folder) -> None:
        """Replace ``run.json`` by one with the summary."""
        folder.put(_NAME, self._content())

    def check_still(self, folder: Folder) -> None:
        """Raise RunMismatchError if the folder meanwhile belongs to another run."""
        there = RunManifest.read(folder)
        if there is None or (there.identity, there.pieces) != (self.identity, self.pieces):
            raise RunMismatchError(
                f"{folder.path_of(_NAME)} is of another run: two runs started in it at the same time.",
                hint="Name another folder, or run the same command again after the other run has ended.",
            )

    def _content(self) -> bytes:
        return json_line({"sgi_partitions": FORMAT, **asdict(self)})

    @classmethod
    def read(cls, folder: Folder) -> Self | None:
        """Read the manifest of a folder; None if the folder is empty or missing.

        Raises UsageError if the folder has other files, StoreError as `of` does.
        """
        text = folder.read(_NAME)
        if text is None:
            if any(not name.startswith(".") for name in folder.names()):
                raise UsageError(f"The folder {folder.text} holds other files.", hint="Name another one.")
            return None
        return cls.of(text, folder.path_of(_NAME))

    @classmethod
    def of(cls, text: bytes, file: str) -> Self:
        """Parse ``run.json``. Raises StoreError if the file is damaged, or another version wrote it."""
        try:
            values = json.loads(text)
            if not isinstance(values, dict):
                raise StoreError(f"{file} is damaged: it is not an object.", hint=_OTHER_FOLDER_HINT)
            if values.pop("sgi_partitions", None) != FORMAT:
                raise StoreError(f"Another version of SGI wrote {file}.", hint=_OTHER_FOLDER_HINT)
            manifest: Self = validate(cls, values)
        except ValidationError as errors:
            raise StoreError(
                f"{file} is damaged: {first_problem(errors)}.", hint=_OTHER_FOLDER_HINT
            ) from errors
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{file} is damaged: it is not JSON.", hint=_OTHER_FOLDER_HINT) from error
        return manifest

    def complete_partitions(self, folder: Folder) -> dict[int, Manifest]:
        """Return the manifests of the complete partitions of this run, by number."""
        return {
            number: manifest
            for number, manifest in self._manifests(folder).items()
            if self._is_own(number, manifest) and manifest.changed_file(folder) is None
        }

    def partitions(self, folder: Folder) -> dict[int, Manifest]:
        """Return the manifests of partitions, by number; their files are checked when they are read.

        Raises StoreError if a partition belongs to another run.
        """
        manifests = self._manifests(folder)
        for number, manifest in manifests.items():
            if not self._is_own(number, manifest):
                name = partition_name(number)
                message = f"{folder.path_of(name)}.json is of another run than {folder.path_of(_NAME)}."
                raise StoreError(message, hint=rerun_hint(folder, name))
        return manifests

    def _is_own(self, number: int, manifest: Manifest) -> bool:
        return (manifest.run, manifest.fragment) == (self.identity, self.pieces[number].digest)

    def _manifests(self, folder: Folder) -> dict[int, Manifest]:
        names = folder.names()
        manifests: dict[int, Manifest] = {}
        for number in range(len(self.pieces)):
            name = f"{partition_name(number)}.json"
            text = folder.read(name) if name in names else None
            if text is None:
                continue
            manifests[number] = Manifest.of(text, folder.path_of(name))
        return manifests

    def check_sources(self, sources: Sequence[Source], folder: Folder) -> None:
        """Raise RunMismatchError if the data files changed."""
        then = {piece.fragment.source for piece in self.pieces}
        changed = sorted({source.shown for source in then ^ set(sources)})
        if changed:
            raise _mismatch(folder, f"its data ({changed[0]})")

    def check_same(self, now: RunManifest, folder: Folder) -> None:
        """Raise RunMismatchError if something changed since the folder was created; the message names it."""
        pairs = zip(self.pieces, now.pieces, strict=True)
        data = next((old.fragment.source.shown for old, new in pairs if old.digest != new.digest), None)
        if data is not None:
            raise _mismatch(folder, f"its data ({data})")
        if (self.spec_hash, self.metrics) != (now.spec_hash, now.metrics):
            raise _mismatch(folder, "the settings")
        if self.signature != now.signature:
            raise _mismatch(folder, f"the signature (then {self.signature}, now {now.signature})")
        if self.identity != now.identity:
            raise _mismatch(folder, "whether texts are written (`inputs`)")


def _mismatch(folder: Folder, what: str) -> RunMismatchError:
    return RunMismatchError(
        f"The run in {folder.text} cannot be resumed: {what} changed.", hint=_OTHER_FOLDER_HINT
    )
