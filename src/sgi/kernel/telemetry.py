"""Turns off the usage reports of the libraries that SGI runs on.

`sgi/__init__.py` imports this module before anything else, so that it comes before those libraries in every
process: the command line, an application, a pytest plugin, a worker of a cluster. See decision 0032.
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
"""The variables that `disable` sets, also where the environment says otherwise or has a blank value."""


def disable() -> None:
    """Set `VARIABLES` in this process, which its child processes inherit.

    Warns:
        RuntimeWarning: onnxruntime was imported before, and its telemetry was not off.

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
