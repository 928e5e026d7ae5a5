"""``sgi`` as its command runs it, with a line in ``markers`` for all that it takes for stored.

Run as a script, in the folder of the run; the words behind its name are those of ``sgi``.
"""

from __future__ import annotations

import json
import os
import sys
from functools import wraps

MARKERS = "markers"


def _install() -> None:
    from sgi.llm.cassette import CassetteRecorder
    from sgi.llm.chat import ModelChat
    from sgi.store.cache import SqliteCache
    from sgi.store.run_writer import RunRecorder

    descriptor = os.open(MARKERS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def mark(**facts: object) -> None:
        os.write(descriptor, json.dumps(facts).encode() + b"\n")

    def after(kind: type, name: str, facts) -> None:
        inner = getattr(kind, name)

        @wraps(inner)
        def wrapped(self, *args, **more):
            found = inner(self, *args, **more)
            mark(**facts(self, *args))
            return found

        setattr(kind, name, wrapped)

    after(
        SqliteCache,
        "put_many",
        lambda self, items: {"cache": self.path.name, "keys": [k.hex() for k in items]},
    )
    after(RunRecorder, "commit", lambda self, start, *_: {"run": self.run, "batch": start})
    after(RunRecorder, "finish", lambda self, *_: {"run": self.run, "finished": True})
    ask, recorded = ModelChat.complete, CassetteRecorder.complete

    async def complete(self, call):
        mark(sent=1)
        return await ask(self, call)

    async def noted(self, call):
        found = await recorded(self, call)
        mark(call=call.key(self.fingerprint).hex())
        return found

    ModelChat.complete, CassetteRecorder.complete = complete, noted

    from sgi.cli.main import main

    try:
        main()
    except SystemExit as left:
        mark(exit=left.code or 0)
        raise
    mark(exit=0)


if __name__ == "__main__":
    _install()
    sys.exit(0)
