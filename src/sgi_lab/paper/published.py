"""Numbers printed in the paper and its repository: Marín (2025), arXiv:2512.13771, and its README.

Models have the paper's short names.
"""

from __future__ import annotations

from typing import NamedTuple

from sgi.models.known_models import known_model

REPORTED_MODEL = "mpnet"
"""The model of tables 2 to 4 and figure 5, as their numbers show; the paper does not name it."""


class Separation(NamedTuple):
    """A row of table 1: mean SGI of both classes, Cohen's d, AUROC."""

    grounded: float
    hallucinated: float
    effect: float
    auroc: float


class Stratum(NamedTuple):
    """A row of tables 2 and 3: Cohen's d and AUROC; in table 2 also mean SGIs and the range of θ(q,c)."""

    effect: float
    auroc: float
    grounded: float | None = None
    hallucinated: float | None = None
    ends: tuple[float, float] | None = None


class TruthfulRow(NamedTuple):
    """Row of Table 4: θ(r,q) of true and of false answers, Cohen's d, p and AUROC.

    A larger angle indicates a false answer. The paper prints d with the sign of false − true.
    """

    true: float
    false: float
    effect: float
    p: float
    auroc: float


class Decomposition(NamedTuple):
    """A row of table 5: Cohen's d of the two angles, as printed."""

    effect_rq: float
    effect_rc: float


TABLE_1 = {
    "mpnet": Separation(1.142, 0.921, 0.92, 0.776),
    "minilm": Separation(1.203, 0.856, 1.28, 0.824),
    "bge": Separation(1.231, 0.948, 1.27, 0.823),
    "e5": Separation(1.138, 0.912, 1.03, 0.794),
    "gte": Separation(1.224, 0.927, 1.13, 0.811),
}

TABLE_2 = {
    "low": Stratum(0.61, 0.721, 1.08, 0.94, (0.42, 0.89)),
    "middle": Stratum(0.90, 0.768, 1.19, 0.91, (0.89, 1.12)),
    "high": Stratum(1.27, 0.832, 1.31, 0.88, (1.12, 1.57)),
}

TABLE_3 = {
    "question": {"low": Stratum(1.22, 0.812), "middle": Stratum(0.99, 0.781), "high": Stratum(0.65, 0.714)},
    "context": {"low": Stratum(0.91, 0.763), "middle": Stratum(0.92, 0.768), "high": Stratum(1.00, 0.782)},
    "response": {"low": Stratum(0.95, 0.771), "middle": Stratum(1.18, 0.804), "high": Stratum(2.05, 0.893)},
}

TABLE_4 = TruthfulRow(0.782, 0.763, -0.14, 0.045, 0.478)

TABLE_5 = {
    "mpnet": Decomposition(1.50, 0.43),
    "minilm": Decomposition(1.62, 0.38),
    "bge": Decomposition(1.48, 0.41),
    "e5": Decomposition(1.39, 0.45),
    "gte": Decomposition(1.44, 0.40),
}

PEARSON_MEAN, SPEARMAN_MEAN = 0.85, 0.87
"""Figure 2: the mean off-diagonal correlation of SGI between models."""

CALIBRATION_ERROR = 0.10
"""Figure 5: the expected calibration error of min-max normalised SGI."""

DECILE_RATES = (1.00, 0.65)
"""Figure 5: the approximate share of hallucinated answers in the lowest and in the highest decile of SGI."""

DISPLACEMENT = {
    "flat_displacement_consistency": (1.0, 1.0),
    "flat_expected_response_deviation": (1.0, 1.0),
    "flat_displacement_magnitude_ratio": (0.99999835, 0.99982),
    "flat_response_rank": (0.99930, 0.99346),
    "flat_tangent_space_residual": (0.99896, 0.99614),
    "flat_local_density_ratio": (0.960, 0.893),
    "flat_local_grounding_index": (0.914, 0.807),
}
"""The repository's displacement scores under mpnet: AUROC with answers swapped across and within domains."""


def paper_model(name: str) -> str | None:
    """Return the paper's name of a model, independent of its source; None if it is not in the paper.

    >>> paper_model("all-mpnet-base-v2"), paper_model("torch:models/all-mpnet-base-v2"), paper_model("mine")
    ('mpnet', 'mpnet', None)
    """
    stem = name.removeprefix("torch:").rstrip("/").rpartition("/")[2]
    known = known_model(stem)
    short = "minilm" if stem == "all-MiniLM-L6-v2" else (known and known.alias) or stem
    return short if short in TABLE_1 else None
