"""Protocol of a worker: it reads one command per line and replies with one line of JSON.

It runs in a peer's environment, so it uses only the standard library. The output of the peer goes to standard
error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def serve(load: Callable[[dict[str, Any]], tuple[Callable[[], Any], dict[str, Any]]]) -> None:
    """Load the peer, write facts about it, and then run its work on each command ``run``.

    Args:
        load: returns the work and facts about the peer for a setting. Both results must be JSON values.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    work, about = load(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    result: Any = None

    def reply(content: dict[str, Any]) -> None:
        out.write(json.dumps(content) + "\n")
        out.flush()

    reply(about)
    for line in sys.stdin:
        if line.strip() == "run":
            start = time.perf_counter()
            result = work()
            reply({"seconds": time.perf_counter() - start})
        else:
            reply({"result": result})
