"""The RAG system under test: a Python function or a service behind a URL, asked one question at a time.

``TargetSpec`` says which and how; ``open_target`` opens it, with its limits around it.
"""

from sgi.target.load import open_target
from sgi.target.spec import TargetSpec

__all__ = ["TargetSpec", "open_target"]
