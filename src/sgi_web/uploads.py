"""Uploaded files: each is shown in a preview, and then scored by a worker process, one after another."""

from __future__ import annotations

import multiprocessing
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, cast

from sgi.engine.progress import Advanced, Began, Judged, Started
from sgi.io.files import PACKED
from sgi.io.files import SUFFIXES as READ_SUFFIXES
from sgi.kernel.durable_files import mark_in_use, remove_unused
from sgi.kernel.errors import DataError, SgiError, StoreError, UsageError
from sgi.kernel.judged_metric import judged_metrics
from sgi.store.manage_runs import data_files
from sgi.store.run_queries import run_usage
from sgi_web.body_limit import gunzip, too_large_message
from sgi_web.pages import NotFoundError
from sgi_web.upload_form import MAX_SECONDS, DataScan, scan_file, shown_text
from sgi_web.upload_worker import score_upload
from sgi_web.work_limits import ServerBusyError, Throttle

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from starlette.requests import Request

    from sgi.engine.progress import Event
    from sgi.engine.run_options import RunOptions
    from sgi_web.site import Site

SUFFIXES = (*READ_SUFFIXES, ".pb")
"""File types of uploads, all also with ``.gz``."""
MAX_IDLE, MAX_WAITING = 20, 20
"""Maximum number of uploads that are not being scored, of which the oldest is removed, and that wait."""
_STOP_SECONDS = 10.0
"""How long a worker may take to stop."""
_SPAWN = multiprocessing.get_context("spawn")
_small_scans, _large_scans = Throttle(8, 10.0, at_once=8), Throttle(2, 2 * MAX_SECONDS, at_once=2)
"""The files that are read at once; a file that is quick to read does not wait for others."""
_SMALL_BYTES = 1 << 20


@dataclass(eq=False)
class Upload:
    """An uploaded file.

    Attributes:
        path: the stored file.
        shown: its name on the user's computer.
        state: preview, waiting, running, cancelling, finished, failed or cancelled.
        stage: the current step of the run.
        done: number of finished rows of this step.
        total: number of rows of this step; None if unknown.
        judged: number of judgements of this step and their maximum; None without a judge.
        run: id of the run; None if it does not exist yet.
        problem: why it failed.
        handle: holds the lock of the file, without which the next server removes it.
    """

    id: str
    path: Path
    shown: str
    handle: IO[bytes] = field(repr=False)
    state: str = "preview"
    stage: str = ""
    done: int = 0
    total: int | None = None
    judged: tuple[int, int] | None = None
    run: str | None = None
    problem: str = ""
    _scan: tuple[dict[str, Any], DataScan] | None = field(default=None, repr=False)

    @property
    def is_active(self) -> bool:
        """Whether the upload waits or is being scored."""
        return self.state in {"waiting", "running", "cancelling"}

    def remove(self) -> None:
        """Delete the file."""
        self.handle.close()
        self.path.unlink(missing_ok=True)

    def scan(self, settings: dict[str, Any]) -> DataScan:
        """Scan the file, or return the last scan if it had the same settings."""
        is_small = self.path.suffix not in PACKED and self.path.stat().st_size <= _SMALL_BYTES
        with (_small_scans if is_small else _large_scans).acquire():
            if self._scan is None or self._scan[0] != settings:
                self._scan = settings, scan_file(self.path, self.shown, settings)
            return self._scan[1]

    def note(self, message: Event | str) -> None:
        """Take a message of the worker: progress, or why the run failed."""
        match message:
            case Began(run):
                self.run = run
            case Started(stage, total):
                self.stage, self.done, self.total, self.judged = stage, 0, total, None
            case Advanced(rows):
                self.done += rows
            case Judged(done, total):
                self.judged = done, total
            case str():
                self.problem = shown_text(message, self.path, self.shown)


class Uploads:
    """The uploads of a server, in order of arrival."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._known: dict[str, Upload] = {}
        self._lock = Lock()
        self._executor = ThreadPoolExecutor(1, "sgi-uploads")
        self._worker: BaseProcess | None = None
        self.budget_left = site.judge_budget
        """What the judge may still cost in US dollars until the server stops; None for any."""

    def add(self, stream: IO[bytes], name: str) -> Upload:
        """Store a file for its preview. Raises UsageError or StoreError, see `_save`."""
        path, handle = _save(self._site, stream, name)
        upload = Upload(secrets.token_urlsafe(12), path, name, handle)
        with self._lock:
            idle = [known for known in self._known.values() if not known.is_active]
            for old in idle[: max(0, len(idle) - MAX_IDLE + 1)]:
                del self._known[old.id]
                if old.state == "preview":
                    old.remove()
            self._known[upload.id] = upload
        return upload

    def find(self, upload_id: str) -> Upload:
        """Return an upload. Raises NotFoundError."""
        if upload_id not in self._known:
            raise NotFoundError("This upload does not exist any more.", hint="Upload it again.")
        return self._known[upload_id]

    def active(self) -> list[Upload]:
        """Return the uploads that wait or are being scored."""
        return [upload for upload in [*self._known.values()] if upload.is_active]

    def start(self, upload: Upload, options: RunOptions) -> None:
        """Queue the run of an upload.

        Raises:
            ServerBusyError: too many uploads wait.
            UsageError: the upload was started before.
        """
        with self._lock:
            if upload.state != "preview":
                raise UsageError("This file is already being scored, or was scored.")
            if sum(known.state == "waiting" for known in self._known.values()) >= MAX_WAITING:
                raise ServerBusyError("Too many uploads are queued.", hint="Try again later.")
            self._executor.submit(self._score, upload, options)
            upload.state = "waiting"

    def cancel(self, upload: Upload) -> None:
        """Cancel an upload: its finished batches stay stored. An upload that has ended is not changed."""
        with self._lock:
            if upload.state == "waiting":
                upload.state = "cancelled"
                upload.remove()
            elif upload.state == "running" and self._worker is not None:
                upload.state = "cancelling"
                self._worker.terminate()

    def close(self) -> None:
        """Stop the worker, so that its run can be resumed on the command line, and remove all other files."""
        for upload in self.active():
            self.cancel(upload)
        self._executor.shutdown()
        for upload in self._known.values():
            if upload.state == "preview":
                upload.remove()

    def _score(self, upload: Upload, options: RunOptions) -> None:
        """Score an upload in a worker process; record an error instead of raising it."""
        try:
            code = self._run_worker(upload, options)
            if upload.run is not None and self.budget_left is not None:
                usages = run_usage(self._site.database, upload.run).values()
                self.budget_left -= min(sum(usage.cost or 0.0 for usage in usages), self.budget_left)
        except (SgiError, OSError) as error:
            code, upload.problem = -1, str(error)
        if code is None:  # it was cancelled
            return
        if code and not upload.problem:
            upload.problem = f"The worker process ended with code {code}. The server log can have details."
        if code == 0 or upload.run is None:
            upload.remove()
        upload.handle.close()  # the file of a run that can be resumed stays
        with self._lock:
            failed = "cancelled" if upload.state == "cancelling" else "failed"
            upload.state = failed if code else "finished"

    def _run_worker(self, upload: Upload, options: RunOptions) -> int | None:
        """Run a worker process; return its exit code, or None if the upload was cancelled before."""
        receiver, sender = _SPAWN.Pipe(duplex=False)
        options = options.model_copy(update={"db": self._site.place})
        if self._site.judge is not None and judged_metrics(options.named_metrics or ()):
            limits = {} if self.budget_left is None else {"max_cost": self.budget_left}
            options = options.model_copy(update={"judge": self._site.judge.model_copy(update=limits)})
        worker = _SPAWN.Process(target=score_upload, args=(sender, options), daemon=True)
        with self._lock, sender:
            if upload.state != "waiting":
                return None
            worker.start()
            upload.state, self._worker = "running", worker
        with suppress(EOFError):
            while receiver.poll(_STOP_SECONDS) or upload.state != "cancelling":
                if receiver.poll():
                    upload.note(receiver.recv())
        worker.join(_STOP_SECONDS)
        worker.kill()
        worker.join()
        return worker.exitcode


def uploads_of(request: Request) -> Uploads:
    """Return the uploads of the application."""
    return cast("Uploads", request.app.state.uploads)


def file_name(name_sent: str | None) -> str:
    r"""Return the file name without the folders that some browsers send.

    >>> file_name("C:\\data\\rows.csv"), file_name("../../etc/passwd"), file_name("")
    ('rows.csv', 'passwd', 'the file')
    """
    return PureWindowsPath(name_sent or "").name.strip()[-80:] or "the file"


def _create(path: Path) -> IO[bytes]:
    """Create a file, and lock it; another server that starts can remove it before it is locked."""
    while True:
        file = path.open("xb")
        mark_in_use(file.fileno())
        if path.exists():
            return file
        file.close()


def _save(site: Site, stream: IO[bytes], shown: str) -> tuple[Path, IO[bytes]]:
    """Store a file under a generated name; the suffix of ``shown`` gives the format. Also return its lock.

    A ``.gz`` file is decompressed, and its content must not exceed the limit of an upload.

    Raises:
        UsageError: the type is not supported, or the file is too large or not valid gzip.
        StoreError: it cannot be stored, for example because the disk is full.
    """
    plain = shown.lower().removesuffix(".gz")
    suffix = PurePosixPath(plain).suffix
    if suffix not in SUFFIXES:
        hint = f"Supported: {', '.join(SUFFIXES)}, also compressed (.gz)."
        raise UsageError(f"{shown!r} is not a supported file type.", hint=hint)
    path = site.folder.resolve() / f"upload-{secrets.token_hex(8)}{suffix}"
    pieces = iter(lambda: stream.read(1 << 20), b"") if plain == shown.lower() else gunzip(stream)
    on_error = ExitStack()
    try:
        site.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = on_error.enter_context(_create(path))
        for piece in pieces:
            target.write(piece)
            if target.tell() > site.upload_limit:
                raise UsageError(too_large_message(site.upload_limit))  # noqa: TRY301 - the file is removed
        target.flush()
    except Exception as error:
        with suppress(OSError):
            on_error.close()
        with suppress(OSError):
            path.unlink()
        if isinstance(error, DataError):
            message = f"{shown!r} cannot be decompressed: {error.message}."
            raise UsageError(message, hint="Compress it again.") from error
        if isinstance(error, OSError):
            raise StoreError(f"The upload cannot be saved: {error.strerror or error}.") from error
        raise
    return path, target


def remove_leftovers(site: Site) -> None:
    """Delete files of killed servers that no run needs."""
    with suppress(SgiError, OSError):  # the database is away, or there is no folder
        needed = {PurePath(path).name for path in data_files(site.database)}
        for path in site.folder.iterdir():
            if path.name.startswith("upload-") and path.name not in needed and path.is_file():
                with suppress(OSError):  # another server, or the worker of a killed one, uses it
                    remove_unused(path)
