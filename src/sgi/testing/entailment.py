"""Contract test for entailment models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.protocols import ENTAILMENT, EntailmentModel
from sgi.testing.contracts import SAMPLES
from sgi.testing.judging import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import EntailmentScores

_SHORT = 40
"""Every model must accept hypotheses of this many characters."""


def check_entailment_model(model: EntailmentModel, *, tolerance: float = 0.0) -> None:
    """Raise an AssertionError if a model breaks the contract of `sgi.kernel.protocols.EntailmentModel`.

    Probabilities must be in [0, 1], one per pair, in order, and the same for a pair in any batch, within
    ``tolerance``, which allows for padding.

    >>> from sgi.kernel.protocols import EntailmentScores
    >>> class Copied:
    ...     fingerprint = "entailment:copied@1,unlimited"
    ...     def readable(self, hypotheses):
    ...         return np.ones(len(hypotheses), dtype=bool)
    ...     def entail(self, pairs):
    ...         copied = np.array([hypothesis in premise for premise, hypothesis in pairs], dtype=float)
    ...         return EntailmentScores(copied, 1 - copied, np.ones(len(pairs), dtype=np.int64))
    >>> check_entailment_model(Copied())
    """
    require(isinstance(model, EntailmentModel), "an entailment model has a fingerprint, readable and entail")
    require(
        model.fingerprint.startswith(ENTAILMENT) and "@" in model.fingerprint,
        f"a fingerprint reads {ENTAILMENT}name@revision,…, not {model.fingerprint!r}",
    )
    pairs = [(passage, sample.response) for sample in SAMPLES for passage in (*sample.contexts[:2], "")]
    readable = _readable(model, [hypothesis for _, hypothesis in pairs])
    pairs = [pair for pair, fits in zip(pairs, readable, strict=True) if fits]
    scores = model.entail(pairs)
    _check_probabilities(scores, len(pairs))
    require(_near(scores, model.entail(pairs), tolerance), "asking twice gives the same probabilities")
    reverse = model.entail(pairs[::-1])
    backwards = reverse._replace(**{name: column[::-1] for name, column in reverse._asdict().items()})
    require(_near(scores, backwards, tolerance), "probabilities come in the order of the pairs")
    for place, pair in enumerate(pairs):
        own = scores._replace(**{name: column[[place]] for name, column in scores._asdict().items()})
        require(_near(own, model.entail([pair]), tolerance), f"{pair!r} has the same probabilities alone")
    _check_probabilities(model.entail([]), 0)


def _readable(model: EntailmentModel, hypotheses: Sequence[str]) -> NDArray[np.bool_]:
    flags = model.readable(hypotheses)
    sound = getattr(flags, "dtype", None) == np.bool_ and flags.shape == (len(hypotheses),)
    require(sound, f"readable returns an array of {len(hypotheses)} booleans, one per hypothesis")
    for text, fits in zip(hypotheses, flags.tolist(), strict=True):
        require(fits or len(text) > _SHORT, f"a short hypothesis is readable: {text!r}")
    require(model.readable([]).shape == (0,), "readable returns an empty array for no hypotheses")
    return flags


def _check_probabilities(scores: EntailmentScores, n: int) -> None:
    has_contradiction = ~np.isnan(scores.contradiction)
    require(all(column.shape == (n,) for column in scores), f"{n} pairs have {n} probabilities each")
    require(
        bool(has_contradiction.all() or not has_contradiction.any()),
        "either all pairs have a probability of contradiction, or none",
    )
    for column in (scores.entailment, scores.contradiction[has_contradiction]):
        require(bool(((column >= 0) & (column <= 1)).all()), "probabilities are in [0, 1]")
    require(
        bool((scores.windows >= 1).all()),
        "each premise is read in at least one window (part that fits the token limit)",
    )


def _near(left: EntailmentScores, right: EntailmentScores, tolerance: float) -> bool:
    return left.windows.tolist() == right.windows.tolist() and all(
        np.allclose(one, other, rtol=0, atol=tolerance, equal_nan=True)
        for one, other in zip(left[:2], right[:2], strict=True)
    )
