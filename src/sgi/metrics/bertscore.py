"""BERTScore: how well the tokens of a response match the tokens of its reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import REFERENCE, RESPONSE
from sgi.kernel.tokens import TokenModel
from sgi.metrics.references import BLANK
from sgi.text.read_share import unread_by_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.kernel.sample import Batch
    from sgi.kernel.tokens import TextTokens, TokenFrequencies, TokenTable
    from sgi.kernel.vectors import Features

NO_TOKENS = "the model makes no tokens of the reference"
NO_WEIGHT = "every token is in every reference, so all weights are 0"

_BLOCK = 1 << 20  # cosines in memory at once: 4 MB of float32


class Baseline(NamedTuple):
    """Scores of unrelated texts, used to rescale values."""

    precision: float
    recall: float
    f1: float


_MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_DEBERTA = "microsoft/deberta-xlarge-mnli"
_SAME_WEIGHTS = {"minilm": _MINILM, "all-MiniLM-L6-v2": _MINILM}

RECOMMENDED_LAYERS: Mapping[str, int] = {_DEBERTA: 40}
"""The layer that agrees best with human ratings, if it is not the last; from Zhang et al. (2020)."""

BASELINES: Mapping[tuple[str, int | None], Baseline] = {
    (_DEBERTA, 40): Baseline(0.5169066, 0.5170288, 0.5150192),
    (_MINILM, None): Baseline(0.1550176, 0.1538978, 0.1476717),
}
"""Baselines by model and layer, where None is the last layer. DeBERTa: published with bert-score, for random
pairs of sentences. MiniLM: 10,000 such pairs of HaluEval (docs/internals/decisions/0017)."""

_Weigh = Callable[["TextTokens"], "NDArray[np.float64]"]


@closed
class TokenScores(TypedDict):
    """Scores over token vectors; null if the weights of all tokens are 0.

    Attributes:
        precision: mean over the tokens of the response.
        recall: mean over the tokens of the reference.
        f1: harmonic mean of both.
    """

    precision: float | None
    recall: float | None
    f1: float | None


@closed
class BertScoreDetails(TypedDict, total=False):
    """The scores against the best reference.

    Attributes:
        raw: the scores before rescaling.
        rescaled: the scores after rescaling; only if a baseline is known for the model.
        windows: number of windows of the longest text; only if a text exceeds the token limit.
    """

    raw: TokenScores
    rescaled: TokenScores
    windows: int


def _spec(name: str, reading: str) -> MetricSpec:
    limits = (
        "A wrong number or a missing “not” hardly changes it. A row has no value if the reference is blank."
    )
    return MetricSpec(
        name,
        2,
        needs=RESPONSE | REFERENCE,
        citation="Zhang et al. (2020)",
        details=BertScoreDetails,
        guide=MetricHelp(Question.RIGHT, reading, limits),
    )


class _Match(NamedTuple):
    """Scores of a response against one reference; NaN if all tokens of either text have weight 0."""

    precision: float
    recall: float
    f1: float
    windows: int


@dataclass(frozen=True)
class _BertScore(Metric):
    """Base of the three BERTScore metrics; ``_part`` is the value that a subclass returns."""

    model: str = "minilm"
    layer: int | None = None
    idf: bool = False
    rescale: bool = False
    baseline: tuple[float, float, float] | None = None
    _part: ClassVar[str]

    def __post_init__(self) -> None:
        _check_parameters(self.model, self.layer, {"idf": self.idf, "rescale": self.rescale})
        if self.baseline is not None:
            object.__setattr__(self, "baseline", _check_baseline(self.baseline))
        if self.rescale:
            if self._baseline is None:
                raise ValueError(
                    f"rescale needs a baseline, and none is known for {self.token_model}; "
                    "give the scores of unrelated texts: baseline=[precision, recall, f1]"
                )
            object.__setattr__(self, "spec", replace(self.spec, low=-math.inf))

    @property
    def token_model(self) -> TokenModel:
        layer = RECOMMENDED_LAYERS.get(_bare(self.model)) if self.layer is None else self.layer
        return TokenModel(self.model, layer)

    @property
    def weighs_tokens(self) -> bool:
        return self.idf

    def token_texts(self, batch: Batch, /) -> Iterable[str]:
        """Return the references and responses to compare, without blank texts."""
        for response, references in _texts_of_rows(batch):
            yield from references
            if references and response:
                yield response

    def score(self, batch: Batch, features: Features, /) -> Scores:
        values, details = np.zeros(len(batch)), []
        blank, empty, response_unread, unread = (np.zeros(len(batch), dtype=np.bool_) for _ in range(4))
        table = features.tokens
        for row, (response, references) in enumerate(_texts_of_rows(batch)):
            read = [text for text in references if text not in table.unread]
            response_unread[row], unread[row] = response in table.unread, not read
            matches = self._matches(table, response, read) if read and not response_unread[row] else []
            blank[row], empty[row] = not references, not matches
            values[row], detail = self._row(matches)
            details.append(detail)
        undefined = {
            BLANK: blank,
            unread_by_model(table.model, "response"): response_unread,
            unread_by_model(table.model, "reference"): unread,
            NO_TOKENS: empty,
            NO_WEIGHT: np.isnan(values),
        }
        return Scores.of(values, undefined=undefined, details=details)

    def _matches(self, table: TokenTable, response: str, references: list[str]) -> list[_Match]:
        """Match the response with each reference that has tokens."""
        weigh = _weights(table.frequencies, idf=self.idf)
        tokens = table.of(response) if response else None
        reference_tokens = [
            candidate for text in references if not (candidate := table.of(text)).special.all()
        ]
        return [_match(tokens, reference, weigh) for reference in reference_tokens]

    @property
    def _baseline(self) -> Baseline | None:
        if self.baseline is not None:
            return Baseline(*self.baseline)
        token_model = self.token_model
        return BASELINES.get((_bare(token_model.name), token_model.layer))

    def _row(self, matches: list[_Match]) -> tuple[float, dict[str, JsonValue]]:
        """Return the best value over the references, and the details of the row."""
        if not matches:
            return 0.0, {}
        raw = {name: _best([getattr(match, name) for match in matches]) for name in Baseline._fields}
        details: dict[str, JsonValue] = {"raw": _finite_or_none(raw)}
        chosen = raw
        if self._baseline is not None:
            chosen = {name: (raw[name] - b) / (1 - b) for name, b in self._baseline._asdict().items()}
            details["rescaled"] = _finite_or_none(chosen)
        windows = max(match.windows for match in matches)
        if windows > 1:
            details["windows"] = windows
        return (chosen if self.rescale else raw)[self._part], details


@dataclass(frozen=True)
class BertScore(_BertScore):
    r"""BERTScore F1: how well the tokens of response and reference match, by their contextual vectors.

    .. math:: F = 2 P R / (P + R)

    P and R are ``bertscore_precision`` and ``bertscore_recall``. In [0, 1]; rescaled values, (F − b)/(1 − b)
    with the baseline b, are negative for texts that match less than unrelated texts. The best of several
    references counts. A blank response scores 0. A row is undefined if all references are blank, if all
    weights are 0, or if the vocabulary of the model covers less than 80 % of the response or of every
    reference. The details hold precision, recall and F1: raw, and also rescaled if a baseline is known.

    A text longer than the model's token limit is split into windows that overlap by half; the details hold
    their number. Limits: raw values of unrelated texts are far above 0, so compare ranks, or set ``rescale``.
    A "not" or a wrong number changes the value only a little.

    Attributes:
        model: model of the token vectors. ``torch:microsoft/deberta-xlarge-mnli`` (3 GB, layer 40) agrees
            best with human ratings.
        layer: layer that gives the vectors; 0 is the embeddings, null the recommended layer or, if there is
            none, the last. ONNX models have only the last.
        idf: whether the weight of a token is log((N + 1)/(df + 1)), where df of the N references in the data
            contain it. Works only with the whole data: `sgi run` or `sgi.evaluate`.
        rescale: whether to rescale values by the baseline.
        baseline: precision, recall and F1 of unrelated texts, for a model without a built-in baseline.

    References: Zhang et al. (2020), "BERTScore: Evaluating Text Generation with BERT".

    >>> from sgi.types import Batch, Features, Sample
    >>> from sgi.kernel.tokens import TokenTable
    >>> pair = Batch.of([Sample(id="1", response="a b", reference="a")])
    >>> ids, rows = [np.array([1, 2]), np.array([1])], np.eye(2, dtype=np.float32)[[0, 1, 0]]
    >>> table = TokenTable.build("minilm", ["a b", "a"], ids, rows, special=())
    >>> BertScore().score(pair, Features(token_table=table)).details[0]["raw"]
    {'precision': 0.5, 'recall': 1.0, 'f1': 0.6666666666666666}
    """

    spec: ClassVar = _spec(
        "bertscore",
        "1: the same text. Values of unrelated texts are well above 0, so compare values; do not read one "
        "alone.",
    )
    _part: ClassVar = "f1"


@dataclass(frozen=True)
class BertScorePrecision(_BertScore):
    r"""BERTScore precision: how well each token of the response matches a token of the reference.

    .. math:: P = \sum_i w_i \max_j \max(0, x_i \cdot y_j) \,/\, \sum_i w_i

    x and y are the unit vectors of the tokens of response and reference. Special tokens such as [CLS] have
    weight 0 but can be matched; other tokens have weight 1, or their idf. Parameters, range and statuses are
    as for ``bertscore``.

    References: Zhang et al. (2020), "BERTScore: Evaluating Text Generation with BERT".

    >>> tokens = np.eye(2, dtype=np.float32)  # the response has two tokens, the reference only the first
    >>> greedy_match(tokens, tokens[:1])[0].mean().tolist()
    0.5
    """

    spec: ClassVar = _spec(
        "bertscore_precision",
        "1: every token of the response has an equal token in the reference. Unrelated texts are well above "
        "0.",
    )
    _part: ClassVar = "precision"


@dataclass(frozen=True)
class BertScoreRecall(_BertScore):
    r"""BERTScore recall: how well each token of the reference matches a token of the response.

    .. math:: R = \sum_j w_j \max_i \max(0, x_i \cdot y_j) \,/\, \sum_j w_j

    Symbols are as for ``bertscore_precision``; parameters, range and statuses as for ``bertscore``.

    References: Zhang et al. (2020), "BERTScore: Evaluating Text Generation with BERT".

    >>> tokens = np.eye(2, dtype=np.float32)  # the response has two tokens, the reference only the first
    >>> greedy_match(tokens, tokens[:1])[1].mean().tolist()
    1.0
    """

    spec: ClassVar = _spec(
        "bertscore_recall",
        "1: every token of the reference has an equal token in the response. Unrelated texts are well above "
        "0.",
    )
    _part: ClassVar = "recall"


def greedy_match(
    left: NDArray[np.float32], right: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return, for each row of both matrices, its greatest cosine with a row of the other, in [0, 1].

    Negative cosines become 0. At most 4 MB of cosines are in memory at once.

    Args:
        left: unit vectors as rows, shape (n, d).
        right: unit vectors as rows, shape (m, d).

    Source: Zhang et al. (2020), "BERTScore", section 3.

    >>> rows = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> [best.tolist() for best in greedy_match(rows, rows[:1])]
    [[1.0, 0.0], [1.0]]
    """
    forth, back = np.zeros(len(left), dtype=np.float32), np.zeros(len(right), dtype=np.float32)
    step = max(1, _BLOCK // max(1, len(right)))
    for start in range(0, len(left) if len(right) else 0, step):
        cosines = left[start : start + step] @ right.T
        forth[start : start + step] = cosines.max(axis=1)
        np.maximum(back, cosines.max(axis=0), out=back)
    return np.clip(forth, 0, 1), np.clip(back, 0, 1)


def _match(response: TextTokens | None, reference: TextTokens, weigh: _Weigh) -> _Match:
    if response is None or response.special.all():
        return _Match(0.0, 0.0, 0.0, reference.windows)
    forth, back = greedy_match(response.rows, reference.rows)
    precision = _weighted_mean(forth, weigh(response))
    recall = _weighted_mean(back, weigh(reference))
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    return _Match(precision, recall, f1, max(response.windows, reference.windows))


def _weights(frequencies: TokenFrequencies | None, *, idf: bool) -> _Weigh:
    """Return the weight function: 1 or the inverse document frequency, and 0 for special tokens."""
    if not idf:
        return lambda tokens: (~tokens.special).astype(np.float64)
    assert frequencies is not None  # noqa: S101 - the engine counts before it lets such a metric score
    return lambda tokens: np.where(tokens.special, 0.0, frequencies.weights(tokens.ids))


def _weighted_mean(values: NDArray[np.float32], weights: NDArray[np.float64]) -> float:
    """Return the mean in [0, 1]; NaN if all weights are 0."""
    total = float(weights.sum())
    return min(1.0, float(weights @ values) / total) if total > 0 else math.nan


def _best(values: list[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def _finite_or_none(values: Mapping[str, float]) -> dict[str, JsonValue]:
    return {name: None if math.isnan(value) else value for name, value in values.items()}


def _texts_of_rows(batch: Batch) -> Iterator[tuple[str, list[str]]]:
    """Return each row's response, empty if blank, and its references that are not blank."""
    for response, references in zip(batch.response, batch.references, strict=True):
        yield response if response.strip() else "", [text for text in references if text.strip()]


def _bare(name: str) -> str:
    """Return the model's name on the Hugging Face hub, without ``torch:``; an alias becomes that name."""
    bare = name.removeprefix("torch:")
    return _SAME_WEIGHTS.get(bare, bare)


def _check_baseline(values: object) -> tuple[float, float, float]:
    if (
        not isinstance(values, (list, tuple))
        or len(values) != len(Baseline._fields)
        or not all(type(value) in (int, float) and -1 <= value < 1 for value in values)
    ):
        raise ValueError(
            f"baseline must be precision, recall and F1 of unrelated texts, each below 1, not {values!r}"
        )
    precision, recall, f1 = map(float, values)
    return precision, recall, f1


def _check_parameters(model: object, layer: object, choices: Mapping[str, object]) -> None:
    if not isinstance(model, str) or not model.strip():
        raise ValueError(f"model must be the name of a model, not {model!r}")
    if layer is not None and (not isinstance(layer, int) or isinstance(layer, bool) or layer < 0):
        raise ValueError(f"layer must be a whole number from 0, or null for the last layer, not {layer!r}")
    for name, value in choices.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, not {value!r}")
