"""How a worker is told to do its work: one word a line, one line of JSON back.

Runs in a peer's environment, which has nothing of ours: the standard library alone. Whatever the peer prints
goes to standard error.
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


def answer(load: Callable[[dict[str, Any]], tuple[Callable[[], Any], dict[str, Any]]]) -> None:
    """Load, say what was loaded, and work when told.

    Args:
        load: from the setting, the work (its result must have a JSON form) and facts about it.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    work, about = load(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    result: Any = None

    def tell(told: dict[str, Any]) -> None:
        out.write(json.dumps(told) + "\n")
        out.flush()

    tell(about)
    for line in sys.stdin:
        if line.strip() == "go":
            began = time.perf_counter()
            result = work()
            tell({"seconds": time.perf_counter() - began})
        else:
            tell({"result": result})
