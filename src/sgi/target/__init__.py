"""The RAG system under test: a Python function or an HTTP service that answers one question at a time.

``TargetSpec`` has its settings; ``open_target`` opens it with its limits.
"""

from sgi.target.load import open_target
from sgi.target.spec import TargetSpec

__all__ = ["TargetSpec", "open_target"]
