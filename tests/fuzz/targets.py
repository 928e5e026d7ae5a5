"""Every loader that is fuzzed."""

from fuzz import data_targets, settings_targets, trace_targets
from fuzz.import_targets import SEEDS
from fuzz.registry import TARGETS, Target

__all__ = ["TARGETS", "data_targets", "settings_targets", "trace_targets"]

TARGETS.update({run.__name__: Target(run, lambda seed=seed: [seed()], 3) for run, seed in SEEDS.items()})
