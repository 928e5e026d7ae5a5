"""The uploaded files that are shown before they are scored. Each belongs to the session that uploaded it."""

from __future__ import annotations

import os
import secrets
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, cast

from sgi_web.data_scan import scan_file
from sgi_web.throttle import Throttle
from sgi_web.uploads import PREVIEW_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.requests import Request

    from sgi_web.data_scan import DataScan, ReadSettings

MAX_PREVIEWS = 20
"""Maximum number of files; a further one replaces the oldest."""
_WAITING = 8
_WAIT_SECONDS = 60.0


@dataclass(eq=False)
class Preview:
    """An uploaded file that is not scored yet.

    Attributes:
        path: the stored file.
        shown: its name on the user's computer.
        session: the session that uploaded it.
        used: when it was last requested, in seconds.
    """

    id: str
    path: Path
    shown: str
    session: str
    used: float
    _scans: dict[str, DataScan] = field(default_factory=dict, repr=False)

    def scan(self, settings: ReadSettings) -> DataScan:
        """Scan the file, or return the last scan if it had the same settings."""
        key = repr(settings)
        if key not in self._scans:
            self._scans = {key: scan_file(self.path, self.shown, settings)}
        return self._scans[key]


class Previews:
    """The previews of a server. ``clock`` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, Preview] = OrderedDict()
        self._lock = Lock()
        self.throttle = Throttle(_WAITING, _WAIT_SECONDS)
        """Limits how many files are read at once."""

    def add(self, path: Path, shown: str, session: str) -> Preview:
        """Add a file; files that nobody requested for an hour, and the oldest ones, are removed."""
        preview = Preview(secrets.token_urlsafe(12), path, shown, session, self._clock())
        with self._lock:
            self._known[preview.id] = preview
            old = [known for known in self._known.values() if self._clock() - known.used > PREVIEW_SECONDS]
            old += [*self._known.values()][: max(0, len(self._known) - MAX_PREVIEWS)]
            for known in old:
                self._remove(known)
        return preview

    def find(self, preview_id: str, session: str) -> Preview | None:
        """Return a preview of this session, and keep it for another hour; None if there is none."""
        with self._lock:
            preview = self._known.get(preview_id)
            if preview is None or preview.session != session:
                return None
            preview.used = self._clock()
            self._known.move_to_end(preview_id)
        with suppress(OSError):
            os.utime(preview.path)  # other servers on this folder remove old files
        return preview

    def forget(self, preview: Preview) -> None:
        """Remove a preview whose file is scored now."""
        with self._lock:
            self._known.pop(preview.id, None)

    def close(self) -> None:
        """Remove all previews and their files."""
        with self._lock:
            for preview in [*self._known.values()]:
                self._remove(preview)

    def _remove(self, preview: Preview) -> None:
        """Remove a preview and its file; the caller holds the lock."""
        self._known.pop(preview.id, None)
        with suppress(OSError):
            preview.path.unlink()


def previews_of(request: Request) -> Previews:
    """Return the previews of the application."""
    return cast("Previews", request.app.state.previews)
