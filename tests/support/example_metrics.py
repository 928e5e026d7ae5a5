"""A metric of each kind, for tests of all metrics."""

from sgi.kernel.registry import metric_classes


def example_metrics() -> dict[str, str]:
    """Return a canonical string for each metric that can be loaded, by name.

    It is the name itself, or `AnyMetric.example` if the metric has parameters without a default.
    """
    return {name: kind.example or name for name, kind in metric_classes()[0].items()}
