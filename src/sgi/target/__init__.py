"""The RAG system under test: a Python function or an HTTP service that answers one question at a time.

This system is called the target. ``TargetSpec`` has its settings; ``open_target`` opens it and enforces its
limits (rate, time, concurrency).
"""

from sgi.target.open_target import open_target
from sgi.target.target_spec import TargetSpec

__all__ = ["TargetSpec", "open_target"]
