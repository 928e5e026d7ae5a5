"""Each promise of an entailment model, broken on purpose; real models keep them in the tests beside."""

import numpy as np
import pytest

from sgi.kernel.protocols import EntailmentScores
from sgi.testing.entailment import check_entailment_model


class Lengths:
    """Entailment by the lengths of the two texts: keeps every promise."""

    fingerprint = "entailment:lengths@1,unlimited"

    def readable(self, hypotheses, /):
        return np.ones(len(hypotheses), dtype=bool)

    def entail(self, pairs, /):
        probabilities = np.array(
            [1 / (1 + len(premise) + len(hypothesis)) for premise, hypothesis in pairs], dtype=float
        )
        return EntailmentScores(probabilities, 1 - probabilities, np.ones(len(pairs), dtype=np.int64))


class TwoWay(Lengths):
    def entail(self, pairs, /):
        scores = super().entail(pairs)
        return scores._replace(contradiction=np.full(len(pairs), np.nan))


class Short(Lengths):
    """Reads some hypotheses only, and fails at others."""

    def readable(self, hypotheses, /):
        return np.array([len(text) < 50 for text in hypotheses], dtype=bool)

    def entail(self, pairs, /):
        assert all(len(hypothesis) < 50 for _, hypothesis in pairs)
        return super().entail(pairs)


@pytest.mark.parametrize("kind", [Lengths, TwoWay, Short])
def test_who_keeps_every_promise_passes(kind):
    check_entailment_model(kind())


class Nameless(Lengths):
    fingerprint = "lengths"


class LikeAnEmbedder(Lengths):
    fingerprint = "lengths@1,unlimited"


class Refusing(Lengths):
    def readable(self, hypotheses, /):
        return np.zeros(len(hypotheses), dtype=bool)


class OneForAll(Lengths):
    def readable(self, hypotheses, /):
        return np.ones(1, dtype=bool)


class Numbers(Lengths):
    def readable(self, hypotheses, /):
        return np.ones(len(hypotheses))


class NeverNone(Lengths):
    def readable(self, hypotheses, /):
        return np.ones(max(1, len(hypotheses)), dtype=bool)


class Beyond(Lengths):
    def entail(self, pairs, /):
        scores = super().entail(pairs)
        return scores._replace(entailment=2 * scores.entailment)


class Unsure(Lengths):
    def entail(self, pairs, /):
        scores = super().entail(pairs)
        scores.entailment[:1] = np.nan
        return scores


class Sometimes(Lengths):
    def entail(self, pairs, /):
        scores = super().entail(pairs)
        scores.contradiction[1:] = np.nan
        return scores


class Blind(Lengths):
    def entail(self, pairs, /):
        return super().entail(pairs)._replace(windows=np.zeros(len(pairs), dtype=np.int64))


class Lossy(Lengths):
    def entail(self, pairs, /):
        return EntailmentScores(*(column[1:] for column in super().entail(pairs)))


class Fickle(Lengths):
    calls = 0

    def entail(self, pairs, /):
        self.calls += 1
        scores = super().entail(pairs)
        return scores._replace(entailment=scores.entailment / self.calls)


class Sorting(Lengths):
    def entail(self, pairs, /):
        return EntailmentScores(*(np.sort(column) for column in super().entail(pairs)))


class Sociable(Lengths):
    def entail(self, pairs, /):
        scores = super().entail(pairs)
        return scores._replace(entailment=scores.entailment / max(1, len(pairs)))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Nameless, "a fingerprint reads"),
        (LikeAnEmbedder, "a fingerprint reads entailment:name@revision"),
        (Refusing, "a short hypothesis is readable: 'It was completed in 1889.'"),
        (OneForAll, "booleans, one per hypothesis"),
        (Numbers, "booleans, one per hypothesis"),
        (NeverNone, "an empty array for no hypotheses"),
        (Beyond, r"are in \[0, 1\]"),
        (Unsure, r"are in \[0, 1\]"),
        (Sometimes, "either all pairs have a probability of contradiction"),
        (Blind, "at least one window"),
        (Lossy, "probabilities each"),
        (Fickle, "asking twice"),
        (Sorting, "in the order of the pairs"),
        (Sociable, "the same probabilities alone"),
        (object, "has a fingerprint, readable and entail"),
    ],
)
def test_a_broken_promise_is_told(kind, words):
    with pytest.raises(AssertionError, match=words):
        check_entailment_model(kind())


def test_small_differences_may_be_allowed():
    class Rounding(Lengths):
        def entail(self, pairs, /):
            scores = super().entail(pairs)
            return scores._replace(entailment=scores.entailment * (1 - 1e-9 * len(pairs)))

    with pytest.raises(AssertionError):
        check_entailment_model(Rounding())
    check_entailment_model(Rounding(), tolerance=1e-6)
