"""A row with normalised texts and the analysis of its response."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.metrics.grounding.analysis import ResponseAnalysis, ResponseText
from sgi.metrics.grounding.cells import with_bars
from sgi.metrics.grounding.language_tables import ENGLISH, AnalysedText, language_of
from sgi.metrics.grounding.normalize_unicode import PlainText, normalize_text
from sgi.metrics.grounding.passage_index import PassageIndex
from sgi.metrics.grounding.row_language import PassageLanguages, choose_language
from sgi.text.citation_markers import reference_list_start
from sgi.text.cited_text import remove_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sgi.kernel.sample import Sample
    from sgi.metrics.grounding.row_language import RowLanguage
    from sgi.text.cited_text import TextWithoutMarkers

NO_CLAIMS = "the response claims nothing that passages could support"


@dataclass(frozen=True, eq=False)
class Passages:
    """The passages of consecutive rows, with normalised texts.

    Attributes:
        texts: the passages that are not blank.
        positions: index of each of these passages in the contexts.
        languages: the languages of the texts.
        versions: the same passages, for analysis by the rules of each language that a row needed.
    """

    texts: tuple[PlainText, ...]
    positions: tuple[int, ...]
    languages: PassageLanguages
    versions: dict[str, Passages] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, contexts: Iterable[str]) -> Passages:
        """Normalise the passages, for analysis by the rules of English."""
        plain = [normalize_text(with_bars(text)) for text in contexts]
        positions = tuple(at for at, text in enumerate(plain) if text.text.strip())
        texts = tuple(_in_language(plain[at], ENGLISH) for at in positions)
        passages = cls(texts, positions, PassageLanguages([each.text for each in texts]))
        passages.versions[ENGLISH] = passages
        return passages

    def in_language(self, code: str) -> Passages:
        """Return the same passages, for analysis by the rules of a language; the same object each time."""
        if code not in self.versions:
            texts = tuple(_in_language(plain, code) for plain in self.texts)
            self.versions[code] = replace(self, texts=texts)
        return self.versions[code]

    @cached_property
    def index(self) -> PassageIndex:
        """The index of the words of all passages."""
        return PassageIndex.of([plain.text for plain in self.texts])

    def forget(self) -> None:
        """Drop the index and the cached analysis of the texts; they need much more memory than the texts."""
        self.languages.forget()
        for version in self.versions.values():
            version.__dict__.pop("index", None)
            for plain in version.texts:
                AnalysedText.of(plain.text).results.clear()


@dataclass(frozen=True, eq=False)
class PreparedRow:
    """A row with normalised texts.

    Attributes:
        response: the response without citation markers; for "yes" and "no", what it says about the question.
        source: the passages; consecutive rows with equal contexts and language share the object.
        question: the question; "" if it is blank or part of ``response``. Consecutive rows with the same
            question and language share the object, with its cached analysis.
        has_markers: whether the original response has citation markers or a list of references.
        language: the language by whose rules the row is read, or why the languages of the row do not fit.
        denied: whether the response is "no" to the question.
    """

    sample: Sample
    response: PlainText
    source: Passages
    question: AnalysedText
    has_markers: bool
    language: RowLanguage
    denied: bool = False

    @classmethod
    def of(cls, sample: Sample, before: PreparedRow | None = None) -> PreparedRow:
        """Normalise the texts of a row; equal contexts and questions are those of the row ``before``."""
        shared = before is not None and before.sample.contexts == sample.contexts
        source = before.source if before is not None and shared else Passages.of(sample.contexts)
        unmarked = remove_markers(sample.response, ids=sample.context_ids)
        response = _in_language(_normalized(unmarked, len(sample.response)), ENGLISH)
        language = choose_language(response.text, source.languages)
        question = _question(sample.question, language.code, before)
        row = cls(
            sample,
            _in_language(response, language.code),
            source.in_language(language.code),
            question,
            unmarked.positions is not None,
            language,
        )
        statement = yes_no_statement(response.text, question) if language.code == ENGLISH else None
        if statement is None:
            return row
        claim = PlainText(statement.text, None, source=(0, len(sample.response)))
        return replace(row, response=claim, question=AnalysedText.of(""), denied=statement.denied)

    @property
    def passages(self) -> tuple[PlainText, ...]:
        """The passages that are not blank."""
        return self.source.texts

    @property
    def positions(self) -> tuple[int, ...]:
        """The index of each passage that is not blank in the row's contexts."""
        return self.source.positions

    @cached_property
    def analysis(self) -> ResponseAnalysis:
        """Analysis of the response with its passages."""
        return ResponseAnalysis.of(self.response_text, self.source.index, self.question, denied=self.denied)

    @cached_property
    def response_text(self) -> ResponseText:
        """Analysis of the response without its passages."""
        return ResponseText.of(self.response.text, self.question, self.language.code)

    @cached_property
    def reason(self) -> str:
        """The reason why the row has no value; "" if it has one."""
        response = self.response_text
        reasons: dict[str, Callable[[], bool]] = {
            "the response is blank": lambda: not response.text.strip() and not self.has_markers,
            "there are no passages": lambda: not self.sample.contexts,
            "all passages are blank": lambda: not self.passages,
            NO_CLAIMS: lambda: not response.claims_something,
            self.language.reason: lambda: bool(self.language.reason),
        }
        return next((reason for reason, holds in reasons.items() if holds()), "")

    @cached_property
    def original_spans(self) -> tuple[tuple[int, int], ...]:
        """Start and end of each sentence in the original response, with the markers next to it.

        Markers between two sentences belong to the first sentence. Markers at the beginning of the line of
        the second sentence belong to the second. A final list of references belongs to none.
        """
        text = self.sample.response
        spans = [self.response.original_span(start, end) for start, end in self.response_text.spans]
        if not self.has_markers:
            return tuple(spans)
        text = text[: reference_list_start(text)]
        starts, ends = [start for start, _ in spans], [end for _, end in spans]
        for number in range(len(spans) + 1):
            first = ends[number - 1] if number else 0
            last = starts[number] if number < len(spans) else len(text)
            line = text.rfind("\n", first, last) + 1
            cut = 0 if not number else line if line and number < len(spans) else last
            if number:
                ends[number - 1] += len(text[first:cut].rstrip())
            if number < len(spans):
                starts[number] -= len(text[cut:last].lstrip())
        return tuple(zip(starts, ends, strict=True))


def _question(text: str, code: str, before: PreparedRow | None) -> AnalysedText:
    """Return a question, normalised; that of the row before if it is the same, because it may be long."""
    if before is not None and before.question and before.sample.question == text:
        return before.question.in_language(code)
    return AnalysedText.of(normalize_text(text).text.strip(), code)


def _in_language(plain: PlainText, code: str) -> PlainText:
    """Return the text as one of this language; the same object, with its cached analysis, if it is one."""
    if isinstance(plain.text, AnalysedText) and plain.text.language == code:
        return plain
    return replace(plain, text=AnalysedText.of(str(plain.text), code))


def _normalized(unmarked: TextWithoutMarkers, length: int) -> PlainText:
    """Normalise a response without markers; positions refer to the response, which has this length."""
    plain = normalize_text(unmarked.text)
    if unmarked.positions is None:
        return plain
    positions = np.array([*unmarked.positions, length], dtype=np.int64)
    return PlainText(plain.text, positions if plain.positions is None else positions[plain.positions])


_BE_OR_DO = r"is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must"
_IS_RIGHT = r"th(?:at|is)(?:\sis|['’]s)\s(?:correct|right|true)"
_YES = rf"(?:yes|yeah|yep|yup|absolutely)(?:[\s,.!]{{1,5}}{_IS_RIGHT})?|correct|true|{_IS_RIGHT}"
_ANSWER = re.compile(
    rf"\W{{0,3}}(?:(?P<yes>{_YES})|(?P<no>no|nope|nah|incorrect|false))\b[\s,.!;:]{{0,5}}"
    rf"(?:(?:it|he|she|they|that|this|there|these|those|we|you|i)\s(?:{_BE_OR_DO})(?:\s?not|n['’]t)?)?\W{{0,5}}",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    rf"(?:and |so |but |then )?(?P<verb>{_BE_OR_DO})(?:n['’]t)?\s+(?:not\s+)?(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_MAX_QUESTION = 2000  # characters
_WORD = re.compile(r"\S+")
_JOINS = frozenset(["and", "of", "the", "de", "van", "von", "&", "both"])


class YesNoStatement(NamedTuple):
    """The statement that "yes" or "no" makes in answer to a question; ``denied`` for "no"."""

    text: str
    denied: bool


def yes_no_statement(response: str, question: str) -> YesNoStatement | None:
    """Return what "yes" or "no" says; None if the response says more, or the question is of another kind.

    The question must begin with a verb such as "is" or "did".

    >>> yes_no_statement("Yes, they are.", "Are Rome and Oslo capitals?").text
    'Rome and Oslo are capitals'
    >>> yes_no_statement("No", "Was Ada Byron born in Paris?")
    YesNoStatement(text='It is not so that Ada Byron was born in Paris', denied=True)
    >>> yes_no_statement("No, in Oslo", "Was Ada Byron born in Paris?")
    """
    answer = _ANSWER.fullmatch(response)
    if answer is None or len(question) > _MAX_QUESTION:
        return None
    asked = _QUESTION.fullmatch(_without_end(question.strip()))
    if asked is None:
        return None
    rest = asked["rest"]
    subject = rest[: _subject_end(rest)].rstrip()
    parts = (subject, asked["verb"].lower(), rest[len(subject) :].strip())
    statement = " ".join(filter(None, parts))
    denied = answer["no"] is not None
    return YesNoStatement(f"It is not so that {statement}" if denied else statement, denied)


def _without_end(question: str) -> str:
    """Return a question without the marks and the space at its end; a pattern would need quadratic time."""
    end = len(question)
    while end and (question[end - 1] == "?" or question[end - 1].isspace()):
        end -= 1
    return question[:end]


def _subject_end(text: str) -> int:
    """Return where the subject at the beginning of a text ends.

    The subject is a run of words with capitals, or the words up to the first content word.
    """
    end, has_name = 0, False
    for word in _WORD.finditer(text):
        plain = word[0].strip(".,'\"“”").casefold()
        is_name = word[0].lstrip("'\"“(")[:1].isupper()
        if has_name and not is_name and plain not in _JOINS:
            return end
        end = word.end()
        has_name = has_name or is_name
        if not has_name and plain not in language_of(text).function_words:
            return end
    return end
