"""Finds which output of a classifier means entailment, from its configuration."""

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
"""Output names without meaning, after digits and separators are removed: from ``LABEL_0`` or ``0``."""
_TWO = 2
_DEFAULT_OUTPUTS = 2
"""The assumed number of outputs if the configuration does not contain it."""


@dataclass(frozen=True)
class LabelMap:
    """Rule for the conversion of a classifier's outputs to probabilities.

    Attributes:
        outputs: the number of outputs.
        entailment: the index of the output for entailment (the hypothesis follows from the premise).
        contradiction: the index of the output for contradiction; None if the model has no such output.
        sigmoid: whether a sigmoid converts each output by itself; otherwise a softmax converts them together.
        inverted: whether the output ``entailment`` means that the hypothesis does *not* follow.

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
        """Read ``id2label``, ``label2id``, ``num_labels`` and ``problem_type`` of a configuration.

        Three outputs are entailment, contradiction and neutral in any order and spelling. Two are entailment
        (consistent, supported …) and its opposite. A single output is entailment, unless its name means the
        opposite. The sigmoid applies to a single output and to the outputs of a multi-label model.

        ``labels`` replaces the names of the outputs in the configuration; ``name`` is the model's name for
        errors.

        Raises:
            UsageError: the names do not show which output means entailment, or contradict each other, or the
                single output is not a logit.
        """
        names = _names(configuration, name) if labels is None else tuple(map(str, labels))
        meanings = [_meaning(label) for label in names]
        count = _count(configuration)
        if labels is not None and count is not None and count != len(names):
            message = f"{name} has {count} outputs, but `labels` has {len(names)} names: {', '.join(names)}."
            raise UsageError(message, hint="Give one name for each output, in the order of the outputs.")
        problem, activation = configuration.get("problem_type"), _activation(configuration)
        several = problem == "multi_label_classification" or activation == "Sigmoid"
        unclear = labels is not None and any(_is_nameless(label) for label in names)
        sigmoid = several or len(names) == 1
        label_map = None if unclear or _is_unrelated(names) else cls._of(meanings, sigmoid=sigmoid)
        if label_map is None:
            message = _unclear_names(configuration, name, names, labels)
            raise UsageError(message, hint=_how_to_name_outputs(name, len(names)))
        is_score = problem == "regression" or activation == "Identity"
        if labels is None and label_map.outputs == 1 and is_score:
            message = f"The single output of {name} is a score (regression), not a probability."
            hint = f"If it is a logit, pass labels=('entailment',), or name it {name}(labels=entailment)."
            raise UsageError(message, hint=hint)
        return label_map

    @classmethod
    def _of(cls, meanings: Sequence[Meaning | None], *, sigmoid: bool) -> Self | None:
        if len(meanings) == 1:
            return cls(1, 0, sigmoid=sigmoid, inverted=meanings[0] not in {None, "entailment"})
        distinct = {meaning for meaning in meanings if meaning is not None}
        three = distinct == {"entailment", "contradiction", "neutral"}
        two = len(meanings) == _TWO and "entailment" in distinct
        if len(distinct) != len(meanings) or not (two or three):
            return None
        contradiction = meanings.index("contradiction") if "contradiction" in meanings else None
        return cls(len(meanings), meanings.index("entailment"), contradiction, sigmoid)

    @staticmethod
    def meanings(configuration: Mapping[str, object], name: str) -> tuple[Meaning | None, ...]:
        """Return the meanings of the outputs by the configuration; None for a name without a meaning."""
        return tuple(map(_meaning, _names(configuration, name)))

    @property
    def code(self) -> str:
        """The short form of this rule in a fingerprint.

        >>> LabelMap(3, 2, 0).code, LabelMap(1, 0, sigmoid=True, inverted=True).code
        ('softmax3-e2-c0', 'sigmoid1-x0')
        """
        head = f"{'sigmoid' if self.sigmoid else 'softmax'}{self.outputs}"
        follows = f"{'x' if self.inverted else 'e'}{self.entailment}"
        return "-".join([head, follows, *([] if self.contradiction is None else [f"c{self.contradiction}"])])

    @property
    def description(self) -> str:
        """The rule in words.

        >>> LabelMap(3, 2, 0).description
        'softmax of 3 outputs: entailment is output 2, contradiction is output 0'
        """
        function = "sigmoid" if self.sigmoid else "softmax"
        follows = f"{'not entailment' if self.inverted else 'entailment'} is output {self.entailment}"
        against = "" if self.contradiction is None else f", contradiction is output {self.contradiction}"
        return f"{function} of {self.outputs} output{'s'[: self.outputs > 1]}: {follows}{against}"

    def probabilities(
        self, logits: NDArray[np.float32], /
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return probabilities of entailment and contradiction, each of shape (n,), for logits (n, outputs).

        .. math:: \frac{e^{z_i}}{\sum_j e^{z_j}} \quad\text{or}\quad \frac{1}{1 + e^{-z_i}}

        Contradiction is NaN if the model has no such output.

        >>> LabelMap(3, 2, 0).probabilities(np.log([[1, 2, 5]]))
        (array([0.625]), array([0.125]))
        """
        values = np.asarray(logits, dtype=np.float64)
        if self.sigmoid:
            probabilities = np.exp(-np.logaddexp(0.0, -values))
        else:
            powers = np.exp(values - values.max(axis=1, keepdims=True, initial=-np.inf))
            probabilities = powers / powers.sum(axis=1, keepdims=True)
        follows = probabilities[:, self.entailment]
        no_value = np.full(len(values), np.nan)
        against = no_value if self.contradiction is None else probabilities[:, self.contradiction]
        return (1.0 - follows if self.inverted else follows), against


def _meaning(label: str) -> Meaning | None:
    return _MEANINGS.get(re.sub(r"[\W\d_]", "", label.casefold()))  # the letters of any script


def _is_unrelated(names: Sequence[str]) -> bool:
    """Return whether the model has a single output that is not of entailment, such as a sentiment."""
    return len(names) == 1 and not _is_nameless(names[0]) and _meaning(names[0]) in {None, "neutral"}


def _is_nameless(label: str) -> bool:
    return re.sub(r"[\s\d_-]", "", label.casefold()) in _NAMELESS


def _names(configuration: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the names of the outputs, from ``id2label`` or ``label2id``: the first with meaningful names."""
    by_index = _order(configuration.get("id2label"))
    named = configuration.get("label2id")
    by_name = _order({index: word for word, index in named.items()} if isinstance(named, dict) else None)
    if by_index is None or by_name is None or len(by_index) != len(by_name):
        return by_index or by_name or ("",) * (_count(configuration) or _DEFAULT_OUTPUTS)
    for first, second in zip(by_index, by_name, strict=True):
        if len({_meaning(first), _meaning(second)} - {None}) > 1:
            message = f"The config.json of {name} contradicts itself: id2label has {first!r} where label2id"
            raise UsageError(f"{message} has {second!r}.", hint=_how_to_name_outputs(name, len(by_index)))
    return by_name if all(_is_nameless(word) for word in by_index) else by_index


def _order(names: object) -> tuple[str, ...] | None:
    """Return the names in the order of their indices; None if the indices are not 0, 1, and so on."""
    if not isinstance(names, dict) or not names:
        return None
    try:
        by_number = {int(index): str(word) for index, word in names.items()}
    except (TypeError, ValueError):
        return None
    complete = sorted(by_number) == list(range(len(names)))
    return tuple(by_number[index] for index in range(len(names))) if complete else None


def _count(configuration: Mapping[str, object]) -> int | None:
    for names in (configuration.get("id2label"), configuration.get("label2id")):
        if isinstance(names, dict) and names:
            return len(names)
    count = configuration.get("num_labels")
    return count if isinstance(count, int) and count > 0 else None


def _activation(configuration: Mapping[str, object]) -> str:
    """Return the class name of the activation function that sentence-transformers applies to the outputs."""
    inner = configuration.get("sentence_transformers")
    current = inner.get("activation_fn") if isinstance(inner, dict) else None
    older = configuration.get("sbert_ce_default_activation_function")
    return str(current or configuration.get("activation_fn") or older or "").rpartition(".")[2]


def _unclear_names(
    configuration: Mapping[str, object], name: str, names: Sequence[str], labels: Sequence[str] | None
) -> str:
    quoted = ", ".join(repr(word) for word in names)
    if labels is not None:
        return f"`labels` is {quoted}, which does not show which output of {name} means entailment."
    keys = [key for key in ("id2label", "label2id", "num_labels") if key in configuration]
    source = " and ".join(keys) or "defaults without id2label, label2id and num_labels"
    return (
        f"The config.json of {name} names its outputs {quoted} (from {source}), so it is unknown which "
        "output means entailment."
    )


def _how_to_name_outputs(name: str, outputs: int) -> str:
    known = {1: ("entailment",), _TWO: ("not_entailment", "entailment")}
    example = known.get(outputs, ("contradiction", "neutral", "entailment"))
    quoted = ", ".join(f'"{word}"' for word in example)
    return (
        f"An entailment model has one to three outputs. Pass their meanings in order, as in the model card: "
        f"for example labels=({quoted}), or {name}(labels={','.join(example)})."
    )
