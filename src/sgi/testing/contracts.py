"""Contract tests for metrics and embedders."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import AnyMetric, MetricSpec, Scores, Status
from sgi.kernel.protocols import Embedder, TruncatingEmbedder
from sgi.kernel.registry import metric as from_canonical
from sgi.kernel.registry import metric_class, metric_names
from sgi.kernel.sample import Batch, Field, Sample
from sgi.kernel.sample_parts import Turn
from sgi.kernel.tokens import TokenFrequencies
from sgi.kernel.vectors import EntailmentTable, Features, VectorTable
from sgi.testing.fakes import HashEmbedder, HashEntailment, HashTokenEncoder
from sgi.testing.judging import Judgements, judgements_of, require

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.tokens import TokenTable
    from sgi.kernel.vectors import EntailmentNeeds, TokenNeeds

_Key = TypeVar("_Key", bound=Hashable)
_MODELS = ("hash", "other")
_DIMENSIONS = (384, 48)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_UNIT_TOLERANCE = 1e-4

_TOWER = "The Eiffel Tower was completed in 1889. It stands in Paris."
_RIVERS = ("The Nile is 6,650 km long.", "The Amazon carries more water.", "The Rhine is shorter.")
_TURNS = (
    Turn(role="user", text="When was it completed?"),
    Turn(role="assistant", text="It was completed in 1888.", contexts=(_TOWER,)),
    Turn(role="user", text="And the longest river?"),
)
_MANY = tuple(f"Passage {number} is about item {number * number}." for number in range(20))
_PRICES = "A ticket costs 10 EUR. A group ticket costs 25 EUR."
_REPORT = (
    "Sorry, I am NOT sure! Sorry again! Is it 10 EUR? Is it 25 EUR?\n\n- A ticket (one person): 10 EUR [1];\n"
    "- a group ticket (five people): 25 EUR [1].\n\nSee https://example.com/a and https://example.com/b, "
    'or ask "the office" and "the museum". **Note:** it\'s 50 % off, and it\'s free for Ann, Bob & Eve…'
)
"""Every mark that a metric may count occurs at least twice."""


def _gold(contexts: tuple[str, ...], *, by_id: bool) -> dict[str, object]:
    """Return the first passage as gold, and one that was not retrieved; by id or by text."""
    if not by_id:
        return {"gold_passages": (*contexts[:1], "It was not retrieved.")}
    return {"context_ids": [f"p{n}" for n in range(len(contexts))], "relevance": {"p0": 1, "other": 2}}


def _row(number: int, question: str, contexts: tuple[str, ...], response: str, *references: str) -> Sample:
    return Sample(
        id=f"row-{number}",
        question=question,
        contexts=contexts,
        response=response,
        reference=references[0],
        alternatives=references[1:],
        label=number % 2 == 0,
        **_gold(contexts, by_id=number % 2 == 0),
        answerable=number % 4 > 1,
        turns=_TURNS,
        latency_ms=125.5 * number,
        prompt_tokens=300 + number,
        completion_tokens=20 * number,
        cost=0.001 * number,
        metadata={"group": "even" if number % 2 == 0 else "odd"},
    )


SAMPLES = (
    _row(0, "When was the tower completed?", (_TOWER,), "It was completed in 1889.", "1889"),
    _row(
        1, "When was the tower completed?", (_TOWER,), "In 1920, by Gustave. He liked it!", "1889", "In 1889"
    ),
    _row(
        2,
        "Which river is longest?",
        _RIVERS,
        'The Nile [9]. It is "6,650 km long" [1].',
        "The Nile",
        "Nile",
        "nile",
    ),
    _row(3, "Which river is longest?", ("", *_RIVERS[1:], "  "), "The Amazon.", "The Nile"),
    _row(4, "Which item?", _MANY, "Item 49, says passage 7. Others differ. Is that all?", "49"),
    _row(5, "An empty answer?", (_TOWER,), "", "something"),
    _row(6, "A blank answer?", (_TOWER,), " \n\t", "something"),
    _row(7, "", (_TOWER,), "There was no question.", "1889"),
    _row(8, "Nothing retrieved?", (), "Nothing was.", "Nothing"),
    _row(9, "Only blanks retrieved?", ("", " "), "Blanks.", "Blanks"),
    _row(10, "A blank reference?", (_TOWER,), "Perhaps.", " "),
    _row(11, "Am I my context?", ("Am I my context?",), "Yes.", "Yes."),
    _row(12, "Am I my own answer?", (_TOWER,), "Am I my own answer?", "Am I my own answer?"),
    _row(13, "Is the answer the context?", (_TOWER,), _TOWER, _TOWER),
    _row(14, "東京は何の首都ですか?", ("東京は日本の首都である。人口は多い。",), "日本。東京です。", "日本"),
    _row(15, "ما هي عاصمة مصر؟", ("القاهرة هي عاصمة مصر.",), "القاهرة.", "القاهرة"),
    _row(16, "Emoji 🗼 or e\u0301?", ("👩\u200d👩\u200d👧 and é", "🗼"), "🗼! é?", "e\u0301", "🗼"),
    _row(17, "Only signs?", ("?!", "..."), "...", "—"),
    _row(18, "A long one?", (" ".join(["word"] * 600),), " ".join(["word"] * 300), "word word"),
    _row(19, "the same words", ("words the same",), "same words the", "THE SAME, WORDS!"),
    _row(20, "What does it cost?", (_PRICES,), _REPORT, "10 EUR and 25 EUR"),
)
"""Ordinary and odd samples: blanks, repeats, many passages, several references, many scripts, many marks."""


def check_metric(metric: AnyMetric, samples: Sequence[Sample] = SAMPLES) -> None:
    """Raise an AssertionError if a metric breaks the contract of `sgi.kernel.metric.Metric`.

    The metric must be a frozen, hashable dataclass with a valid spec, and its canonical string must give the
    same metric. It may ask only for vectors and entailment pairs that it looks up. It must not change its
    input. Values must be in its range, and details must be JSON. A row's score must have the same bits if the
    metric runs again, in another order, or on other batches.

    A judged metric asks a scripted judge that replies with the examples of its prompts. It may use only its
    own prompts. Its judgement must have the declared type and give the same score after a round trip
    through JSON.

    Args:
        metric: a built-in metric, one from a plugin, or your own.
        samples: rows to score. Rows without a required field are left out. At least one row must get a value,
            so give your own rows if the metric reads metadata.

    >>> from sgi.kernel.registry import metric
    >>> check_metric(metric("sgi_bounded"))
    """
    _check_identity(metric)
    _check_spec(metric.spec)
    _check_registry(metric)
    batch = Batch.of(samples)
    batch = batch.take(np.flatnonzero(batch.present(metric.spec.needs)))
    require(
        len(batch) > 1, f"at least two samples have the fields {sorted(metric.spec.needs)}; pass samples="
    )
    if isinstance(metric, JudgedMetric):
        judgements = judgements_of(metric, batch.samples)
        reread = judgements.reread()
        scores = _check_scores(metric, batch, judgements)
        require(judgements.by_sample == reread.by_sample, "score changes no judgement")
        require(_same(scores, _score(metric, batch, reread)), "judgements read back score the same")
    else:
        _check_scores(metric, batch)


def _check_scores(metric: AnyMetric, batch: Batch, judgements: Judgements | None = None) -> Scores:
    scores = _score(metric, batch, judgements)
    _check_values(metric.spec, scores)
    require(_same(scores, _score(metric, batch, judgements)), "scoring twice gives the same scores")
    require(len(_score(metric, batch.take([]), judgements)) == 0, "an empty batch has empty scores")
    _check_company(metric, batch, scores, judgements)
    return scores


def check_embedder(embedder: Embedder, *, tolerance: float = 0.0, blanks: bool = True) -> None:
    """Raise an AssertionError if an embedder breaks the contract of `sgi.kernel.protocols.Embedder`.

    Rows must be float32 and of unit length, one per text, in order. A text must have the same row in any
    batch. No texts must give no rows.

    Args:
        embedder: any Embedder.
        tolerance: greatest difference of entries between batches, for models that round differently.
        blanks: whether the embedder accepts blank texts; remote services refuse them.

    >>> check_embedder(HashEmbedder())
    """
    require(isinstance(embedder, Embedder), "an embedder has a fingerprint and embed(texts)")
    name, _, rest = embedder.fingerprint.partition("@")
    require(bool(name and rest), f"a fingerprint reads name@revision,…, not {embedder.fingerprint!r}")
    texts = [text for sample in SAMPLES for text in (sample.response, *sample.contexts)]
    texts = [text for text in texts if blanks or text.strip()]
    rows = embedder.embed(texts)
    _check_rows(rows, len(texts))
    other = embedder.embed(texts)
    require(np.array_equal(rows, other), "embedding twice gives the same rows")
    first: dict[str, int] = {}
    owners = [first.setdefault(text, row) for row, text in enumerate(texts)]
    require(_close(rows, rows[owners], tolerance), "the same text has the same row in every position")
    backwards = embedder.embed(texts[::-1])[::-1]
    require(_close(backwards, rows, tolerance), "rows come in the order of the texts")
    for text, row in first.items():
        alone = embedder.embed([text])
        require(_close(alone, rows[row : row + 1], tolerance), f"{text[:40]!r} has the same row alone")
    empty = embedder.embed([])
    require(empty.shape == (0, rows.shape[1]), f"no texts give no rows, not shape {empty.shape}")
    if isinstance(embedder, TruncatingEmbedder):
        encoded = embedder.encode(texts)
        require(_close(encoded.rows, rows, tolerance), "encode and embed give the same rows")
        cut = encoded.truncated
        require(
            cut.shape == (len(texts),) and cut.dtype == np.bool_,
            "truncated returns True or False for each text",
        )


def _check_identity(metric: Any) -> None:
    kind: Any = type(metric)
    require(
        isinstance(metric, AnyMetric),
        f"a metric is a Metric or a JudgedMetric, not a {kind.__name__}",
    )
    require(is_dataclass(kind) and "__dataclass_params__" in vars(kind), f"{kind.__name__} is a dataclass")
    require(kind.__dataclass_params__.frozen, f"{kind.__name__} is frozen: @dataclass(frozen=True)")
    try:
        hash(metric)
    except TypeError as error:
        raise AssertionError(f"Broken promise: a metric is hashable ({error}).") from error


def _check_spec(spec: Any) -> None:
    require(isinstance(spec, MetricSpec), "spec is a MetricSpec")
    require(bool(_NAME.fullmatch(spec.name)), f"a name is of a-z, 0-9 and _, not {spec.name!r}")
    require(isinstance(spec.version, int) and spec.version >= 1, "a version counts from 1")
    require(
        isinstance(spec.needs, frozenset) and all(isinstance(need, Field) for need in spec.needs),
        "needs is a frozenset of Field",
    )
    require(spec.low < spec.high, f"low is below high, not {spec.low} and {spec.high}")


def _check_registry(metric: AnyMetric) -> None:
    """Check that a registered metric's canonical string and example give it, and that its name is its own."""
    if metric.spec.name not in metric_names():
        return
    kind = metric_class(metric.spec.name)
    require(isinstance(metric, kind), f"the name {metric.spec.name!r} is taken by {kind.__qualname__}")
    require(from_canonical(metric.canonical) == metric, f"{metric.canonical} leads back to the metric")
    required = kind.required_parameters()
    require(bool(required) == bool(kind.example), "a metric has an example if it has required parameters")
    if required:
        require(type(from_canonical(kind.example)) is kind, f"the example {kind.example} is of this metric")


class _Lookups(dict[_Key, int]):
    """An index of texts or pairs that records which of them are looked up."""

    def __init__(self, keys: Iterable[_Key]) -> None:
        super().__init__((key, row) for row, key in enumerate(keys))
        self.used: set[_Key] = set()

    def __getitem__(self, key: _Key) -> int:
        self.used.add(key)
        return super().__getitem__(key)


@dataclass(frozen=True)
class _Tables:
    """Features as the engine prepares them, with a record of lookups.

    Token frequencies come from `SAMPLES`, for every batch; in a run they come from all data.
    """

    features: Features
    lookups: tuple[_Lookups[Any], ...]

    @classmethod
    def of(cls, metric: AnyMetric, prepared: Any) -> _Tables:
        tables: dict[str, VectorTable] = {}
        lookups: list[_Lookups[Any]] = []
        by_embedder = metric.texts_by_embedder(prepared, _MODELS).items()
        for (name, texts), dimension in zip(by_embedder, _DIMENSIONS * len(by_embedder), strict=False):
            require(all(isinstance(text, str) for text in texts), "texts gives texts")
            if not texts:
                continue
            matrix = HashEmbedder(dimension, name).embed(texts)
            matrix.setflags(write=False)
            lookups.append(_Lookups(texts))
            tables[name] = VectorTable(name, lookups[-1], matrix)
        tokens, token_lookups = _tokens(metric.token_needs, prepared)
        entailments, pair_lookups = _entailments(metric.entailment_needs, prepared)
        features = Features(tables, token_table=tokens, entailment_table=entailments, configured=_MODELS)
        return cls(features, (*lookups, *token_lookups, *pair_lookups))

    def unused(self) -> list[str]:
        """Return the texts and pairs that the metric requested but did not look up."""
        return sorted({str(key) for table in self.lookups for key in table if key not in table.used})


def _tokens(
    needs: TokenNeeds | None, prepared: object
) -> tuple[TokenTable | None, tuple[_Lookups[str], ...]]:
    if needs is None:
        return None, ()
    texts = list(dict.fromkeys(needs.token_texts(prepared)))
    require(all(isinstance(text, str) for text in texts), "token_texts gives texts")
    encoder, lookups = HashTokenEncoder(), _Lookups(texts)
    references = [text for sample in SAMPLES for text in sample.references]
    frequencies = TokenFrequencies.none().add(encoder.token_ids(references))
    table = encoder.encode_tokens(texts)
    table.rows.setflags(write=False)
    return replace(table, index=lookups, frequencies=frequencies if needs.weighs_tokens else None), (lookups,)


def _entailments(
    needs: EntailmentNeeds | None, prepared: object
) -> tuple[EntailmentTable | None, tuple[_Lookups[tuple[str, str]], ...]]:
    if needs is None:
        return None, ()
    require(bool(needs.entailment_model), "a metric with pairs names an entailment_model")
    pairs = list(dict.fromkeys(needs.pairs(prepared)))
    texts = [text for pair in pairs for text in pair]
    require(all(isinstance(text, str) for text in texts), "pairs gives pairs of texts")
    lookups = _Lookups(pairs)
    table = EntailmentTable(needs.entailment_model, lookups, HashEntailment().entail(pairs))
    return table, (lookups,)


def _score(metric: AnyMetric, batch: Batch, judgements: Judgements | None = None) -> Scores:
    before = [sample.model_copy(deep=True) for sample in batch.samples]
    prepared = metric.prepare(judgements.of(batch) if judgements else batch)
    tables = _Tables.of(metric, prepared)
    try:
        scores = metric.score(prepared, tables.features)
    except KeyError as error:
        raise AssertionError(
            f"Broken promise: texts names every text that score looks up ({error})."
        ) from error
    require(isinstance(scores, Scores), f"score gives Scores, not {type(scores).__name__}")
    require(len(scores) == len(batch), f"{len(batch)} rows have {len(batch)} scores, not {len(scores)}")
    require(before == list(batch.samples), "score changes no sample")
    unused = tables.unused()
    require(not unused, f"texts gives only what score looks up, not {len(unused)} more: {unused[:3]!r}")
    return scores


def _check_values(spec: MetricSpec, scores: Scores) -> None:
    values = scores.values[scores.ok]
    require(
        values.size > 0, "at least one sample gets a value; pass samples= with the data that the metric needs"
    )
    outside = values[(values < spec.low) | (values > spec.high)]
    limits = f"[{spec.low:g}, {spec.high:g}], not at {outside[:3].tolist()}"
    hint = "set low and high of the MetricSpec, high=math.inf for values without a limit"
    require(not outside.size, f"values are in {limits}; {hint}")
    known = {status.value for status in Status}
    require(set(scores.status.tolist()) <= known, f"a status is one of {sorted(known)}")
    for detail in scores.details:
        _json(detail)


def _json(detail: Mapping[str, object]) -> str:
    try:
        return json.dumps(dict(detail), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"Broken promise: details are JSON ({error}).") from error


def _check_company(metric: AnyMetric, batch: Batch, scores: Scores, judgements: Judgements | None) -> None:
    n = len(batch)
    order = np.random.default_rng(0).permutation(n)
    shuffled = _score(metric, batch.take(order), judgements)
    require(_same(_rows(scores, order), shuffled), "permuting samples permutes scores and changes no bit")
    half = n // 2
    for rows in (np.arange(half), np.arange(half, n), *np.arange(n)[:, None]):
        require(
            _same(_rows(scores, rows), _score(metric, batch.take(rows), judgements)),
            f"splitting a batch changes no score (rows {rows[0]} to {rows[-1]})",
        )


def _rows(scores: Scores, rows: NDArray[np.int64]) -> Scores:
    return Scores(
        scores.values[rows],
        scores.status[rows],
        tuple(scores.reasons[row] for row in rows),
        tuple(scores.details[row] for row in rows),
    )


def _same(left: Scores, right: Scores) -> bool:
    return (
        left.values.tobytes() == right.values.tobytes()
        and left.status.tolist() == right.status.tolist()
        and left.reasons == right.reasons
        and list(map(_json, left.details)) == list(map(_json, right.details))
    )


def _check_rows(rows: Any, n: int) -> None:
    require(isinstance(rows, np.ndarray) and rows.dtype == np.float32, "rows are a float32 array")
    require(rows.shape[:-1] == (n,), f"{n} texts have {n} rows, not shape {rows.shape}")
    norms = np.linalg.norm(rows.astype(np.float64), axis=1)
    require(bool(np.all(np.abs(norms - 1.0) <= _UNIT_TOLERANCE)), "rows have length one")


def _close(left: NDArray[np.float32], right: NDArray[np.float32], tolerance: float) -> bool:
    return left.shape == right.shape and bool(np.all(np.abs(left - right) <= tolerance))
