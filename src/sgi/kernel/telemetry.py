"""Turns off the usage reports of the libraries that SGI uses.

`sgi/__init__.py` imports this module first, so it runs before those libraries are imported, in every process:
command line, application, pytest plugin or cluster worker. See decision 0032.
"""

from __future__ import annotations

import os
import sys
import warnings

VARIABLES = {
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, transformers, sentence-transformers
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime, read once, when it is imported
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray, read when a cluster starts
}
"""The variables that `disable` sets, even if the environment sets them to another value."""


def disable() -> None:
    """Disable the telemetry of dependencies in this process and its child processes.

    Warns (RuntimeWarning) if onnxruntime was imported before with its telemetry on.

    >>> disable()
    >>> os.environ["ORT_DISABLE_TELEMETRY"]
    '1'
    """
    too_late = "onnxruntime" in sys.modules and os.environ.get("ORT_DISABLE_TELEMETRY") != "1"
    os.environ.update(VARIABLES)
    if too_late:
        warnings.warn(
            "onnxruntime was imported before sgi, with its telemetry on; versions from 1.31 on report that. "
            "Import sgi first, or set ORT_DISABLE_TELEMETRY=1.",
            RuntimeWarning,
            stacklevel=2,
        )
