"""Lexical metrics: how many words a response shares with the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.details import NoDetails, closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import REFERENCE, RESPONSE
from sgi.metrics.parameters import check_choice
from sgi.metrics.references import (
    BLANK,
    UNREAD_REFERENCE,
    UNREAD_RESPONSE,
    Pairs,
    best_reference,
    not_blank,
    pairs_of,
)
from sgi.metrics.sentence_bleu import sentence_bleu
from sgi.text.tokenizers import (
    content_words,
    mteval_words,
    normalise_answer,
    rouge_words,
    unicode_content_words,
    unicode_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features

Tokenizer = Literal["rouge", "unicode"]
"""The compared tokens: ``rouge`` (a–z and digits) or ``unicode`` (any script)."""
_TOKENIZERS: Mapping[str, Callable[[str], str]] = {"rouge": rouge_words, "unicode": unicode_words}
_NO_TOKENS = "the reference has no letter and no digit"
_NOTHING_LEFT = "the reference has only punctuation and articles"
_NO_CONTENT = "the reference has no word of three characters or more, except numbers"


@closed
class LexicalDetails(TypedDict, total=False):
    """The value of each part; null for a part without one.

    Attributes:
        bleu: the BLEU of the row.
        rouge_l: the ROUGE-L of the row.
        content_f1: the F1 over content words.
        squad_em: 1 for an exact match, otherwise 0.
    """

    bleu: float | None
    rouge_l: float | None
    content_f1: float | None
    squad_em: float | None


_LIMITS = (
    "It compares words, not meaning: a right answer in other words gets a low value. A row has no value if "
    "the reference is blank."
)


def _spec(
    name: str, reading: str, citation: str, details: type[object] = NoDetails, version: int = 1
) -> MetricSpec:
    guide = MetricHelp(Question.RIGHT, reading, _LIMITS)
    return MetricSpec(
        name, version, needs=RESPONSE | REFERENCE, citation=citation, details=details, guide=guide
    )


def _best_score(
    batch: Batch, words: Callable[[str], str], scores_of: Callable[[Pairs], NDArray[np.float64]], empty: str
) -> Scores:
    """Return, for each row, the best score over its references that have tokens."""
    pairs = pairs_of(batch, words)
    ascii_only = words is rouge_words
    return best_reference(
        batch, scores_of(pairs), comparable=pairs.have_tokens, empty=empty, ascii_only=ascii_only
    )


def _bag_f1(pairs: Pairs) -> NDArray[np.float64]:
    return pairs.in_bags.f_score()


@dataclass(frozen=True)
class Bleu(Metric):
    r"""BLEU of one response: n-gram precision up to four words, with a brevity penalty.

    .. math:: \mathrm{BLEU} = \min(1, e^{1 - |ref| / |resp|}) \, \Big(\prod_{n \le N} p_n\Big)^{1/N}

    N is 4, or the length of a shorter response (effective order). A precision of zero is smoothed
    exponentially. The tokenizer is WMT's ``13a``, case-sensitive.

    In [0, 1]; the best of several references counts. A blank response scores 0. A row is undefined if all
    references are blank. Limit: ``13a`` splits at spaces and ASCII punctuation, so paraphrases in Chinese,
    Japanese or Thai score near 0.

    References: Papineni et al. (2002), "BLEU: a Method for Automatic Evaluation of Machine Translation";
    Post (2018), "A Call for Clarity in Reporting BLEU Scores".

    >>> from sgi.types import Batch, Features, Sample
    >>> pair = Sample(id="1", response="The capital is Paris.", reference="The capital is Paris, France.")
    >>> round(float(Bleu().score(Batch.of([pair]), Features()).values[0]), 4)
    0.474
    """

    spec: ClassVar = _spec(
        "bleu",
        "1: the same words in the same order as the reference. Short answers often get a low value, even if "
        "they are right.",
        "Papineni et al. (2002); tokens and smoothing of Post (2018)",
    )

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return the BLEU against the best reference of each row."""
        bleu = sentence_bleu(pairs_of(batch, mteval_words))
        return best_reference(batch, bleu, comparable=not_blank(batch))


@dataclass(frozen=True)
class RougeL(Metric):
    r"""ROUGE-L: F-score of the longest common subsequence of tokens.

    .. math:: F_\beta = (1 + \beta^2) P R / (\beta^2 P + R),\quad P = LCS/|resp|,\quad R = LCS/|ref|

    In [0, 1]; the best of several references counts. A response without tokens scores 0. A row is undefined
    if no reference has tokens. With ``tokenizer="rouge"`` it is also undefined if a to z are less than 80 %
    of the letters of the response, or of every reference; unless 80 % of the words are in such letters for at
    least half.

    Attributes:
        beta: weight of recall relative to precision; above 0.
        tokenizer: ``rouge``: words of the letters a–z and digits, without a stemmer; ``unicode``: any script,
            Chinese, Japanese, Thai, Lao, Khmer and Burmese letter by letter.

    References: Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries".

    >>> from sgi.types import Batch, Features, Sample
    >>> pair = Sample(id="1", response="The capital is Paris.", reference="The capital is Paris, France.")
    >>> round(float(RougeL().score(Batch.of([pair]), Features()).values[0]), 4)
    0.8889
    """

    beta: float = 1.0
    tokenizer: Tokenizer = "rouge"
    spec: ClassVar = _spec(
        "rouge_l",
        "1: the same words in the same order as the reference. 0: no common word.",
        "Lin (2004)",
        version=2,
    )

    def __post_init__(self) -> None:
        check_choice("tokenizer", self.tokenizer, Tokenizer)
        if type(self.beta) not in (int, float) or not 0 < self.beta < math.inf:
            raise ValueError(f"beta must be a number above 0, not {self.beta!r}")
        object.__setattr__(self, "beta", float(self.beta))

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return the F-score against the best reference of each row."""
        words = _TOKENIZERS[self.tokenizer]
        return _best_score(batch, words, lambda pairs: pairs.in_order.f_score(self.beta), _NO_TOKENS)


@dataclass(frozen=True)
class _RougeLShare(Metric):
    """Base of ROUGE-L precision and recall; ``_part`` is the value that a subclass returns."""

    tokenizer: Tokenizer = "rouge"
    _part: ClassVar[str]

    def __post_init__(self) -> None:
        check_choice("tokenizer", self.tokenizer, Tokenizer)

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        part = attrgetter(f"in_order.{self._part}")
        return _best_score(batch, _TOKENIZERS[self.tokenizer], part, _NO_TOKENS)


@dataclass(frozen=True)
class RougeLPrecision(_RougeLShare):
    """ROUGE-L precision: share of the response's tokens in the longest common subsequence.

    In [0, 1]. ``tokenizer``, several references and undefined rows are as for ``rouge_l``.

    References: Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries".

    >>> from sgi.types import Batch, Features, Sample
    >>> pair = Sample(id="1", response="The capital is Paris.", reference="The capital is Paris, France.")
    >>> RougeLPrecision().score(Batch.of([pair]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = _spec(
        "rouge_l_precision",
        "1: all words of the response are in the reference, in this order. It falls if the response says "
        "more.",
        "Lin (2004)",
        version=2,
    )
    _part: ClassVar = "precision"


@dataclass(frozen=True)
class RougeLRecall(_RougeLShare):
    """ROUGE-L recall: share of the reference's tokens in the longest common subsequence.

    In [0, 1]. ``tokenizer``, several references and undefined rows are as for ``rouge_l``.

    References: Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries".

    >>> from sgi.types import Batch, Features, Sample
    >>> pair = Sample(id="1", response="The capital is Paris.", reference="The capital is Paris, France.")
    >>> RougeLRecall().score(Batch.of([pair]), Features()).values.tolist()
    [0.8]
    """

    spec: ClassVar = _spec(
        "rouge_l_recall",
        "1: all words of the reference are in the response, in this order. It falls if the response leaves "
        "words out.",
        "Lin (2004)",
        version=2,
    )
    _part: ClassVar = "recall"


@dataclass(frozen=True)
class SquadExactMatch(Metric):
    """1 if the response equals an accepted answer after SQuAD's normalisation, 0 otherwise.

    The comparison ignores case, ASCII punctuation, articles and white space, as the official script does, so
    "A" equals "the". A blank response scores 0.

    References: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text".

    >>> from sgi.types import Batch, Features, Sample
    >>> rows = [Sample(id="1", response="the paris!", reference=["Rome", "Paris"])]
    >>> SquadExactMatch().score(Batch.of(rows), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = _spec(
        "squad_em",
        "1: the response equals an accepted answer, except for case, punctuation and articles. 0: any other "
        "response.",
        "Rajpurkar et al. (2016), v1.1",
    )

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return 1 where the response equals one of the references."""
        # "A" normalises to "", but only a response that was blank before is not an answer.
        pairs = pairs_of(batch, normalise_answer)
        same = pairs.tokens.equal(pairs.responses, pairs.references)
        answered = np.array([bool(text.strip()) for text in batch.response], dtype=np.bool_)
        numbers = (same & answered[pairs.responses]).astype(np.float64)
        return best_reference(batch, numbers, comparable=not_blank(batch))


@dataclass(frozen=True)
class SquadTokenF1(Metric):
    """F1 of the words that response and reference share, after SQuAD's normalisation.

    In [0, 1]; the best of several references counts. A response that is empty after normalisation scores 0. A
    row is undefined if all its references are empty after normalisation.

    References: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text".

    >>> from sgi.types import Batch, Features, Sample
    >>> rows = [Sample(id="1", response="It is Paris.", reference="Paris, France")]
    >>> SquadTokenF1().score(Batch.of(rows), Features()).values.tolist()
    [0.4]
    """

    spec: ClassVar = _spec(
        "squad_token_f1",
        "1: the same words as the reference. 0: no common word. It falls if the response is longer or "
        "shorter than the reference.",
        "Rajpurkar et al. (2016), v1.1",
    )

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return the F1 against the best reference of each row."""
        return _best_score(batch, normalise_answer, _bag_f1, _NOTHING_LEFT)


@dataclass(frozen=True)
class ContentF1(Metric):
    r"""F1 of the content words that response and reference share, in any order.

    Content words are casefolded words of at least three characters (in Chinese, Japanese, Korean, Thai, Lao,
    Khmer and Burmese of any length) that are not all digits. In [0, 1]; the best of several references
    counts. A response without content words scores 0. A row is undefined if no reference has content words.
    Limit: Chinese and other scripts have no spaces between words; all letters between two marks are one word.

    References: multiset F1 as in Rajpurkar et al. (2016), over content words.

    >>> from sgi.types import Batch, Features, Sample
    >>> rows = [Sample(id="1", response="It is Paris in 1889.", reference="Paris, France")]
    >>> round(float(ContentF1().score(Batch.of(rows), Features()).values[0]), 4)
    0.6667
    """

    spec: ClassVar = _spec(
        "content_f1",
        "1: the same content words as the reference, in any order. 0: no common content word.",
        "multiset F1 over content words",
        version=2,
    )

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return the F1 against the best reference of each row."""
        return _best_score(batch, content_words, _bag_f1, _NO_CONTENT)


@dataclass(frozen=True)
class LexicalAggregate(Metric):
    r"""Weighted mean of BLEU, ROUGE-L, content F1 and exact match.

    .. math:: 0.30\,\mathrm{BLEU} + 0.40\,\mathrm{ROUGE_L} + 0.20\,\mathrm{content\ F1} + 0.10\,\mathrm{EM}

    In [0, 1]. Each part uses its own best reference. A part without a value is left out and the other weights
    are scaled up; the details hold the value of every part. A row is undefined if all references are blank,
    no part has a value, or ROUGE-L reads too few letters of a text. A blank response scores 0.

    Attributes:
        tokenizer: ``rouge``: each part has the tokens of its metric; ``unicode``: all parts compare words of
            any script, of which content F1 leaves out the short ones and numbers (Chinese, Japanese, Thai,
            Lao, Khmer and Burmese are compared letter by letter).

    >>> from sgi.types import Batch, Features, Sample
    >>> pair = Sample(id="1", response="Paris.", reference="Paris")
    >>> scores = LexicalAggregate().score(Batch.of([pair]), Features())
    >>> round(float(scores.values[0]), 4), scores.details[0]["rouge_l"]
    (0.85, 1.0)
    """

    tokenizer: Tokenizer = "rouge"
    spec: ClassVar = _spec(
        "lexical_aggregate",
        "1: the response equals the reference. 0: no common word.",
        "0.30 BLEU + 0.40 ROUGE-L + 0.20 content F1 + 0.10 exact match",
        details=LexicalDetails,
        version=2,
    )

    def __post_init__(self) -> None:
        check_choice("tokenizer", self.tokenizer, Tokenizer)

    def score(self, batch: Batch, features: Features, /) -> Scores:
        """Return the weighted mean of the parts, with all parts in the details."""
        if self.tokenizer == "unicode":
            parts = _unicode_parts(batch)
        else:
            parts = {kind.spec.name: kind().score(batch, features) for kind in _WEIGHTS}
        values = np.array([part.values for part in parts.values()])
        weights = np.where(np.isnan(values), 0.0, np.array(list(_WEIGHTS.values()))[:, None])
        totals = weights.sum(axis=0)
        total = np.nansum(weights * values, axis=0) / np.where(totals > 0, totals, 1.0)
        columns = {
            name: [None if np.isnan(v) else v for v in part.values.tolist()] for name, part in parts.items()
        }
        details = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        reasons = parts["rouge_l"].reasons
        undefined = {
            reason: np.array([own == reason for own in reasons], dtype=np.bool_)
            for reason in {BLANK, UNREAD_RESPONSE, UNREAD_REFERENCE}.intersection(reasons)
        }
        undefined["none of its parts has a value"] = totals == 0
        return Scores.of(total, undefined=undefined, details=details)


_WEIGHTS: Mapping[type[Metric], float] = {Bleu: 0.30, RougeL: 0.40, ContentF1: 0.20, SquadExactMatch: 0.10}


def _unicode_parts(batch: Batch) -> dict[str, Scores]:
    """Return the parts of the lexical aggregate over words of any script."""
    numbers: dict[type[Metric], Callable[[Pairs], NDArray[np.float64]]] = {
        Bleu: sentence_bleu,
        RougeL: lambda pairs: pairs.in_order.f_score(),
        SquadExactMatch: lambda pairs: pairs.tokens.equal(pairs.responses, pairs.references).astype(float),
    }
    parts = {kind: _best_score(batch, unicode_words, of, _NO_TOKENS) for kind, of in numbers.items()}
    parts[ContentF1] = _best_score(batch, unicode_content_words, _bag_f1, _NO_CONTENT)
    return {kind.spec.name: parts[kind] for kind in _WEIGHTS}
