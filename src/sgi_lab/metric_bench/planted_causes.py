"""Rows whose cause of failure is known, made of questions with passages and right answers.

`plant_causes` gives each question the passages that BM25 retrieves from all passages, and a response with one
planted cause, or a correct one. The metadata has the columns ``cause``, ``plant`` (the way in which it was
planted), ``paragraph`` (the cluster) and ``half`` (``choosing`` or ``held``, by paragraph).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from sgi.kernel.sample import Sample
from sgi.kernel.signature import digest
from sgi_lab.metric_bench.passage_ranking import PassageRanking
from sgi_lab.metric_bench.perturbation import Others
from sgi_lab.metric_bench.planted_answers import Answer, answer_sentence, cite
from sgi_lab.metric_bench.wording import clause_order, contractions, number_words, synonyms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Plant = Callable[["Case", Random], "Draft | None"]

CONTEXTS = 6
"""Passages of a row."""
LAST_HIGH_RANK = 3
"""The last rank of the gold passage in rows where it is not too low."""
CITED_SHARE = 0.5
"""Share of the rows with citation markers."""
REWORDED_SHARE = 0.5
"""Share of the rows whose response gets other words with the same meaning, where that is possible."""
CORRECT_WEIGHT = 2
"""Correct rows for each row of another cause."""
MAX_ANSWER_WORDS = 12
_UNRELATED_FROM = 20


@dataclass(frozen=True)
class Source:
    """A question with its paragraph and right answer."""

    id: str
    paragraph: str
    answer: Answer


@dataclass(frozen=True)
class Corpus:
    """All questions, by paragraph, and the ranking of the paragraphs."""

    sources: tuple[Source, ...]
    passages: Mapping[str, str]
    ranking: PassageRanking = field(repr=False)
    by_paragraph: Mapping[str, tuple[Source, ...]] = field(repr=False)

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Corpus:
        """Read questions with one or more passages and a reference that a sentence of them contains.

        Several passages are joined to one. Other questions are left out.
        """
        sources, passages = [], {}
        for sample in samples:
            passage = "\n".join(sample.contexts)
            name = digest(passage.encode("utf-8", "surrogatepass"), size=6).hex()
            passages[name] = passage
            text = (sample.reference or "").strip().rstrip(".,;:")
            sentence = answer_sentence(passage, text) if text else None
            if sentence is not None and len(text.split()) <= MAX_ANSWER_WORDS:
                sources.append(Source(sample.id, name, Answer(sample.question.strip(), text, sentence)))
        groups: dict[str, list[Source]] = {}
        for source in sources:
            groups.setdefault(source.paragraph, []).append(source)
        return cls(
            tuple(sources),
            passages,
            PassageRanking(passages),
            {name: tuple(group) for name, group in groups.items()},
        )

    def others(self, names: Iterable[str]) -> Others:
        """Return paragraphs as rows for the perturbations of `sgi_lab.metric_bench`."""
        texts = {name: self.passages[name] for name in names}
        return Others(Sample(id=n, contexts=(text,), response=text) for n, text in texts.items())


@dataclass(frozen=True)
class Case:
    """A question with the passages that retrieval returns for it.

    Attributes:
        distractors: ids of other paragraphs without the answer, best first.
    """

    source: Source
    corpus: Corpus
    distractors: tuple[str, ...]

    @classmethod
    def of(cls, source: Source, corpus: Corpus) -> Case:
        """Rank the distractors of a question."""
        answer = source.answer.text.casefold()
        names = (
            name
            for name in corpus.ranking.best(source.answer.question)
            if name != source.paragraph and answer not in corpus.passages[name].casefold()
        )
        return cls(source, corpus, tuple(names))

    @property
    def siblings(self) -> tuple[Source, ...]:
        """The other questions of the paragraph."""
        group = self.corpus.by_paragraph[self.source.paragraph]
        return tuple(other for other in group if other.id != self.source.id)

    @property
    def unrelated(self) -> tuple[str, ...]:
        """Paragraphs far down in the ranking of the question."""
        return self.distractors[_UNRELATED_FROM:]

    def context_ids(self, rank: int | None, skipped: str = "") -> tuple[str, ...]:
        """Return the retrieved ids, with the gold paragraph at a rank (from 1) or, with None, nowhere."""
        names = [name for name in self.distractors[: CONTEXTS + 1] if name != skipped][:CONTEXTS]
        if rank is not None:
            names = [*names[: rank - 1], self.source.paragraph, *names[rank - 1 :]][:CONTEXTS]
        return tuple(names)

    def high_rank(self, draw: Random) -> int:
        """Draw a rank of the gold paragraph that is not too low."""
        return draw.randint(1, LAST_HIGH_RANK)

    def low_rank(self, draw: Random) -> int:
        """Draw a rank of the gold paragraph that is too low."""
        return draw.randint(LAST_HIGH_RANK + 1, CONTEXTS)


class Draft(NamedTuple):
    """A planted row before its citation markers.

    Attributes:
        rank: rank of the gold paragraph; None: not retrieved.
        cited: rank that the markers name; None: the response must not have markers.
        answers: answers of the reference.
        asked: questions that the row asks; empty: that of the source.
        must_cite: whether the plant needs markers.
        skipped: id of a paragraph that must not be retrieved.
    """

    response: str
    rank: int | None
    cited: int | None = None
    answers: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    answerable: bool = True
    must_cite: bool = False
    skipped: str = ""


def seeded(*parts: str) -> Random:
    """Return a random generator whose draws depend on the parts alone."""
    key = digest(*(part.encode("utf-8", "surrogatepass") for part in parts))
    return Random(int.from_bytes(key, "big"))  # noqa: S311 - draws, no secrets


def half_of(paragraph: str) -> str:
    """Return the half of a paragraph: thresholds are chosen on one, errors are counted on the other."""
    return ("choosing", "held")[digest(b"half", paragraph.encode(), size=8)[0] % 2]


def plant_causes(
    samples: Iterable[Sample], plants: Mapping[str, Sequence[Plant]], *, seed: int = 0
) -> list[Sample]:
    """Make one row of each question, with causes in about equal numbers and twice as many correct rows.

    Each question gets the cause that has the fewest rows so far in its half, of those that apply to it; the
    ways of a cause rotate in the same manner.

    Args:
        samples: questions with passages and references.
        plants: the ways to plant each cause; see `sgi_lab.metric_bench.cause_plants.PLANTS`.
        seed: seed of all draws.
    """
    corpus = Corpus.of(samples)
    counts: Counter[tuple[str, str]] = Counter()
    rows = []
    for source in sorted(corpus.sources, key=lambda source: seeded(str(seed), source.id).random()):
        half, draw = half_of(source.paragraph), seeded(str(seed), source.id, "plant")
        case = Case.of(source, corpus)
        ways = [(cause, way) for cause, found in plants.items() for way in found]
        draw.shuffle(ways)
        ways.sort(key=lambda pair: (_load(counts, half, pair[0]), counts[half, pair[1].__name__]))
        for cause, way in ways:
            draft = way(case, draw)
            if draft is not None:
                counts.update([(half, cause), (half, way.__name__)])
                rows.append(_row(case, cause, way.__name__, draft, draw))
                break
    return sorted(rows, key=lambda row: row.id)


def _load(counts: Counter[tuple[str, str]], half: str, cause: str) -> float:
    return counts[half, cause] / (CORRECT_WEIGHT if cause == "correct" else 1)


def _reword(text: str, corpus: Corpus, draw: Random) -> str:
    """Return the text in other words with the same meaning, where a rule applies."""
    row = Sample(id=text, response=text)
    for change in (contractions, synonyms, number_words, clause_order):
        row = change.apply(row, corpus.others(()), seed=draw.randrange(1000)) or row
    return row.response


def _row(case: Case, cause: str, plant: str, draft: Draft, draw: Random) -> Sample:
    source, corpus = case.source, case.corpus
    names = case.context_ids(draft.rank, draft.skipped)
    cites = draft.cited is not None and (draft.must_cite or draw.random() < CITED_SHARE)
    response = _reword(draft.response, corpus, draw) if draw.random() < REWORDED_SHARE else draft.response
    values = {
        "id": source.id,
        "question": " ".join(draft.asked or (source.answer.question,)),
        "contexts": [corpus.passages[name] for name in names],
        "context_ids": names,
        "response": cite(response, draft.cited or 0) if cites else response,
        "answerable": draft.answerable,
        "metadata": {
            "cause": cause,
            "plant": plant,
            "paragraph": source.paragraph,
            "half": half_of(source.paragraph),
        },
    }
    if draft.answerable:
        values["relevance"] = {source.paragraph: 1}
        values["reference"] = "; ".join(draft.answers or (source.answer.text,))
    return Sample.model_validate(values)


_GOLD_FIELDS = frozenset({"relevance", "context_ids", "answerable"})
VERSIONS: Mapping[str, frozenset[str]] = {
    "all columns": frozenset(),
    "no gold passages": _GOLD_FIELDS,
    "no references": frozenset({"reference"}),
    "question, passages and response alone": _GOLD_FIELDS | {"reference"},
}
"""Versions of the rows, with the fields that each lacks."""


def without_fields(samples: Iterable[Sample], names: frozenset[str]) -> list[Sample]:
    """Return the rows without some fields."""
    return [
        Sample(**{name: getattr(row, name) for name in row.model_fields_set if name not in names})
        for row in samples
    ]
