"""Which of a classifier's outputs means entailment, as its configuration names them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Meaning = Literal["entailment", "contradiction", "neutral", "not entailment"]

_WORDS: dict[Meaning, str] = {
    "entailment": "entailment entail entails entailed consistent supported support supports grounded "
    "faithful factual attributable aligned",
    "contradiction": "contradiction contradict contradicts contradicted contradictory refuted refute refutes",
    "neutral": "neutral notenoughinfo notenoughinformation nei",
    "not entailment": "notentailment notentailed nonentailment nonentailed inconsistent unsupported "
    "notsupported ungrounded notgrounded unfaithful notfaithful nonfactual notfactual hallucinated "
    "hallucination notattributable",
}
_MEANINGS: dict[str, Meaning] = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}
_NAMELESS = frozenset({"", "label", "class"})
"""What is left of names that only count: ``LABEL_0``, ``0``."""
_THREE = 3
_MANY = 2
_UNTOLD = 2
"""How many outputs a model has whose configuration does not tell."""


@dataclass(frozen=True)
class LabelMap:
    """How a classifier's outputs become probabilities.

    Attributes:
        outputs: how many it has.
        entailment: which one means that the hypothesis follows.
        contradiction: which one means that it is contradicted; None where none does.
        sigmoid: each output is the logit of its own probability; else a softmax goes over all.
        inverted: the output ``entailment`` means that the hypothesis does *not* follow.

    >>> LabelMap.read({"id2label": {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}}, "nli")
    LabelMap(outputs=3, entailment=2, contradiction=0, sigmoid=False, inverted=False)
    """

    outputs: int
    entailment: int
    contradiction: int | None = None
    sigmoid: bool = False
    inverted: bool = False

    @classmethod
    def read(cls, configuration: Mapping[str, Any], name: str, labels: Sequence[str] | None = None) -> Self:
        """What a model's configuration says: ``id2label`` and ``label2id``, ``num_labels``, ``problem_type``.

        Three outputs are entailment, contradiction and neutral in any order and spelling; two are
        entailment (consistent, supported …) and anything that is not; a single one is how far the hypothesis
        follows, or does not if it is named so. A single output, and those of a model for several labels at
        once, go through a sigmoid.

        Args:
            configuration: as in ``config.json``.
            name: of the model, for errors.
            labels: the outputs' names in their order, in place of what the configuration says.

        Raises:
            UsageError: the names do not tell, contradict one another, or the single output is no logit.
        """
        names = _names(configuration, name) if labels is None else tuple(map(str, labels))
        told = [_meaning(label) for label in names]
        told_many = _count(configuration)
        if labels is not None and told_many is not None and told_many != len(names):
            message = f"{name} has {told_many} outputs, but labels names {len(names)}: {', '.join(names)}."
            raise UsageError(message, hint="Name each output once, in their order.")
        sigmoid = len(names) == 1 or _each_its_own(configuration)
        says_nothing = labels is not None and any(_is_nameless(label) for label in names)
        found = None if says_nothing or _is_foreign(names) else cls._of(told, sigmoid=sigmoid)
        if found is None:
            raise UsageError(
                _what_was_read(configuration, name, names, labels), hint=_way_out(name, len(names))
            )
        if labels is None and found.outputs == 1 and _is_no_logit(configuration):
            message = (
                f"The single output of {name} is a score of its own scale (regression), not a probability."
            )
            hint = f"If it is the logit of one, say so: labels=('entailment',), or {name}(labels=entailment)."
            raise UsageError(message, hint=hint)
        return found

    @classmethod
    def _of(cls, told: Sequence[Meaning | None], *, sigmoid: bool) -> Self | None:
        if len(told) == 1:
            return cls(1, 0, sigmoid=sigmoid, inverted=told[0] not in {None, "entailment"})
        distinct = {meaning for meaning in told if meaning is not None}
        three = distinct == {"entailment", "contradiction", "neutral"}
        two = len(told) == _MANY and "entailment" in distinct
        if len(distinct) != len(told) or not (two or three):
            return None
        contradiction = told.index("contradiction") if "contradiction" in told else None
        return cls(len(told), told.index("entailment"), contradiction, sigmoid)

    @property
    def code(self) -> str:
        """The map in a fingerprint.

        >>> LabelMap(3, 2, 0).code, LabelMap(1, 0, sigmoid=True, inverted=True).code
        ('softmax3-e2-c0', 'sigmoid1-x0')
        """
        head = f"{'sigmoid' if self.sigmoid else 'softmax'}{self.outputs}"
        follows = f"{'x' if self.inverted else 'e'}{self.entailment}"
        return "-".join([head, follows, *([] if self.contradiction is None else [f"c{self.contradiction}"])])

    def probabilities(
        self, logits: NDArray[np.float32], /
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Entailment and contradiction, each of shape (n,), of logits of shape (n, outputs).

        .. math:: \frac{e^{z_i}}{\sum_j e^{z_j}} \quad\text{or}\quad \frac{1}{1 + e^{-z_i}}

        Contradiction is NaN where the model does not tell of it.

        >>> LabelMap(3, 2, 0).probabilities(np.log([[1, 2, 5]]))
        (array([0.625]), array([0.125]))
        """
        known = np.asarray(logits, dtype=np.float64)
        if self.sigmoid:
            every = np.exp(-np.logaddexp(0.0, -known))
        else:
            raised = np.exp(known - known.max(axis=1, keepdims=True, initial=-np.inf))
            every = raised / raised.sum(axis=1, keepdims=True)
        follows = every[:, self.entailment]
        against = np.full(len(known), np.nan) if self.contradiction is None else every[:, self.contradiction]
        return (1.0 - follows if self.inverted else follows), against


def _meaning(label: str) -> Meaning | None:
    return _MEANINGS.get(_letters(label))


def _is_foreign(names: Sequence[str]) -> bool:
    """Whether the only output is named for something that is no entailment: a sentiment, say."""
    return len(names) == 1 and not _is_nameless(names[0]) and _meaning(names[0]) in {None, "neutral"}


def _is_nameless(label: str) -> bool:
    """Whether a name only counts: in no script and by no sign does it say anything."""
    return re.sub(r"[\s\d_-]", "", label.casefold()) in _NAMELESS


def _letters(label: str) -> str:
    """The letters of any script, without which a foreign name would pass for one that only counts."""
    return re.sub(r"[\W\d_]", "", label.casefold())


def _names(configuration: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The outputs' names, by ``id2label`` or by ``label2id``, whichever tells more."""
    by_place = _ordered(configuration.get("id2label"))
    named = configuration.get("label2id")
    by_name = _ordered({place: word for word, place in named.items()} if isinstance(named, dict) else None)
    if by_place is None or by_name is None or len(by_place) != len(by_name):
        return by_place or by_name or ("",) * (_count(configuration) or _UNTOLD)
    for first, second in zip(by_place, by_name, strict=True):
        here, there = _meaning(first), _meaning(second)
        if here is not None and there is not None and here != there:
            message = (
                f"The config.json of {name} contradicts itself: id2label says {first!r} where label2id says "
            )
            raise UsageError(f"{message}{second!r}.", hint=_way_out(name, len(by_place)))
    return by_name if all(_is_nameless(word) for word in by_place) else by_place


def _ordered(places: object) -> tuple[str, ...] | None:
    """Names by their place, if there is one for each from 0 on."""
    if not isinstance(places, dict) or not places:
        return None
    try:
        by_number = {int(place): str(word) for place, word in places.items()}
    except (TypeError, ValueError):
        return None
    whole = sorted(by_number) == list(range(len(places)))
    return tuple(by_number[place] for place in range(len(places))) if whole else None


def _count(configuration: Mapping[str, Any]) -> int | None:
    """How many outputs the configuration tells of."""
    for told in (configuration.get("id2label"), configuration.get("label2id")):
        if isinstance(told, dict) and told:
            return len(told)
    told = configuration.get("num_labels")
    return told if isinstance(told, int) and told > 0 else None


def _activation(configuration: Mapping[str, Any]) -> str:
    """What sentence-transformers puts after a cross-encoder's outputs, by the end of its name."""
    inner = configuration.get("sentence_transformers")
    told = inner.get("activation_fn") if isinstance(inner, dict) else None
    older = configuration.get("sbert_ce_default_activation_function")
    return str(told or configuration.get("activation_fn") or older or "").rpartition(".")[2]


def _each_its_own(configuration: Mapping[str, Any]) -> bool:
    several = configuration.get("problem_type") == "multi_label_classification"
    return several or _activation(configuration) == "Sigmoid"


def _is_no_logit(configuration: Mapping[str, Any]) -> bool:
    return configuration.get("problem_type") == "regression" or _activation(configuration) == "Identity"


def _what_was_read(
    configuration: Mapping[str, Any], name: str, names: Sequence[str], labels: Sequence[str] | None
) -> str:
    told = ", ".join(repr(word) for word in names)
    if labels is not None:
        return f"labels says {told}: that does not tell which output of {name} means entailment."
    keys = [key for key in ("id2label", "label2id", "num_labels") if key in configuration]
    read = f"by {' and '.join(keys)}" if keys else "without id2label, label2id or num_labels"
    return f"The config.json of {name}, {read}, names its outputs {told}, not telling which is entailment."


def _way_out(name: str, outputs: int) -> str:
    known = {1: ("entailment",), _MANY: ("not_entailment", "entailment")}
    some = known.get(outputs, ("contradiction", "neutral", "entailment"))
    quoted = ", ".join(f'"{word}"' for word in some)
    return (
        f"An entailment model has one output, two or three. Say in which order this one gives them, as its "
        f"card tells: for one, labels=({quoted}), or {name}(labels={','.join(some)})."
    )
