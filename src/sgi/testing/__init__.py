"""For tests of your own metrics and embedders: a fake embedder, and checks of what a run relies on."""

from sgi.testing.contracts import check_embedder, check_metric
from sgi.testing.fakes import HashEmbedder

__all__ = ["HashEmbedder", "check_embedder", "check_metric"]
