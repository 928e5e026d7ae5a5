"""Questions from the structure of a document: headings that ask, tables, and numbered steps."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING

from sgi.text.tokenizers import sentences
from sgi_quiz.clauses import is_vague
from sgi_quiz.english import word_set
from sgi_quiz.parsing import content_stems, parser
from sgi_quiz.question import Kind, Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi_quiz.passages import Passage

MAX_ANSWER = 60
"""The largest number of words of the answer under a heading that asks."""
_UNCLEAR = re.compile(
    r"(?i)^(?:are|do|did|have) you\b|"
    r"\b(?:us|our|we|it|they|them|this|these|those|he|she|his|her|its|their|here|above|below|one)\b"
)
_POINTS = re.compile(r"(?i)(?:this|these|it|the following|there|here)\b")
_NUMBER = re.compile(r"([-−]?\d[\d,]*(?:\.\d+)?)\s*(%|[a-zA-Zµ°€$£]{0,5})\.?")
_MEASURES = word_set("measures")
_THINGS, _ACTING = word_set("things"), word_set("acting")
_MEANINGS, _PROPERTIES = word_set("meanings"), word_set("properties")
_ARTICLES = {"The", "the", "A", "a", "An", "an"}
_TASKS, _ASKING = word_set("tasks"), word_set("asking")
_OF_CODE = {"argument", "attribute", "field", "key", "name", "parameter", "property", "variable"}
_HAS_OBJECT = {"dobj", "ccomp", "xcomp"}
MAX_TITLE = 12
MAX_CELL = 30
"""The largest number of words of a cell that is an answer."""
_CODE_NAME = re.compile(r"[\w.]*[a-z][._][a-z][\w.]*(?:\(\))?|\w+\(\)")
_COMPOUND = re.compile(r"(-{0,2}[a-z]{2,})([-_])([a-z]{2,}(?:[-_][a-z]+)*)")
_EXPLAINED = re.compile(r"(`[^`]{2,40}`|[A-Za-z][\w -]{2,40}): +(.+)$")
_NOT_COMPARED = {"default", "version", "port", "year"}


def heading_question(passage: Passage) -> Question | None:
    """Return the question of a heading, with the first sentences below it as the answer; None if none.

    A heading asks itself (*Can I cancel?*), or names a task: *Cancel a cabin* asks how to do it.
    """
    title = passage.headings[-1] if passage.headings else ""
    if _UNCLEAR.search(title) or passage.cells or not 3 <= len(title.split()) <= MAX_TITLE:
        return None
    is_asked, answer = (
        title.endswith("?") and title.split()[0].casefold() in _ASKING,
        _first_sentences(passage),
    )
    text = title if is_asked else f"How do I {task}?" if (task := _task(title)) else ""
    if not text or _POINTS.match(answer) or not content_stems(answer) & content_stems(title):
        return None
    if any(token.pos_ == "NOUN" and is_vague(token, range(len(text))) for token in parser()(text)):
        return None
    if is_asked:
        why = f"The document asks it itself, as a heading of {passage.source}."
        return Question(Kind.FAQ, "faq", text, answer, (passage,), title, why, title)
    first = next(iter(sentences(passage.plain)), "")
    if not first.startswith("`") and parser()(first)[:].root.tag_ != "VB":  # no command, and nothing to do
        return None
    why = f"Asks how to do what a heading of {passage.source} names."
    return Question(Kind.FAQ, "instruction", text, answer, (passage,), title, why, title)


def _first_sentences(passage: Passage) -> str:
    """Return the first sentences of a passage, up to `MAX_ANSWER` words; "" if they are not complete."""
    answer = ""
    for sentence in sentences(passage.plain):
        text = sentence.replace("`", "")
        if not text.endswith((".", "!")) or (answer and len(f"{answer} {text}".split()) > MAX_ANSWER):
            break
        answer = f"{answer} {text}".strip()
    return answer if len(answer.split()) <= MAX_ANSWER else ""


def _task(title: str) -> str:
    """Return what a heading names as a task, such as *cancel a cabin*; "" if it names none."""
    start = f"{title[:1].lower()}{title[1:]}"
    for before, tag in (("To", "VB"), ("They", "VBP")):
        doc = parser()(f"{before} {start}.")
        has_object = _HAS_OBJECT & {one.dep_ for one in doc[1].rights}
        if doc[1].tag_ != tag or doc[1].dep_ != "ROOT" or not has_object or doc[1].lower_ not in _TASKS:
            return ""
    return "" if re.search(r"[,;:()]|\bown$", title) else re.sub(r"\byour\b", "my", start)


def table_questions(passage: Passage) -> Iterator[Question]:
    """Yield questions for a cell of a table, and comparisons of two numbers of a column."""
    if len(passage.cells) < 3:
        return
    header, *rows = passage.cells
    rows = [row for row in rows if len(row) == len(header) and _is_key(row[0])]
    if len({row[0] for row in rows}) < len(rows) or not 1 <= len(header[0].split()) <= 4:
        return
    for column, name in enumerate(header[1:], 1):
        found = [(row, match) for row in rows if (match := _NUMBER.fullmatch(row[column]))]
        measure = bool(passage.headings) and _is_measure(name)
        for row in rows:
            key = _key_of(passage, header[0], row[0])
            text = _cell_question(header[0], name, key, is_measure=measure)
            is_text = not measure and 2 <= len(row[column].split()) <= MAX_CELL
            if text and (is_text or _NUMBER.fullmatch(row[column])):
                why = f"Asks for one cell of a table in {passage.source}."
                sentence = " | ".join(row)
                yield Question(Kind.FACT, "table cell", text, row[column], (passage,), sentence, why, key)
        if measure and name.split()[-1].casefold() not in _NOT_COMPARED:
            yield from _compared(passage, header[0], name, found)


def next_questions(questions: Sequence[Question]) -> Iterator[Question]:
    """Yield questions such as *And --once?* after one for another cell of the column."""
    for first, second in pairwise(questions):
        start, end = (one.text.removesuffix(f"{one.topic}{_after(one)}") for one in (first, second))
        if start == end and first.passages == second.passages and first.reference != second.reference:
            of = "of " if start.endswith("of ") else ""
            turns = (("user", first.text), ("assistant", f"{first.reference}."))
            why = f"Needs the turn before it, which asks the same for {first.topic}."
            text = f"And {of}{second.topic.split(' of ')[0]}?"
            yield replace(
                second, kind=Kind.FOLLOW_UP, text=text, why=why, turns=turns, parents=(first, second)
            )


def _after(question: Question) -> str:
    return " do?" if question.text.endswith(" do?") else " mean?" if question.text.endswith(" mean?") else "?"


def _is_key(cell: str) -> bool:
    """Return whether the first cell of a row names a thing."""
    is_plain = re.fullmatch(r"[A-Za-z-][\w .@-]{1,50}", cell) and len(cell.split()) <= 6
    if is_plain and cell.isupper() and "_" not in cell:  # RETURNS is no argument
        return False
    return bool(is_plain) and not _UNCLEAR.search(cell) and cell.split(maxsplit=1)[0] not in _ARTICLES


def _key_of(passage: Passage, first: str, key: str) -> str:
    """Return a key with the function or object that the heading names; "" if a usual word needs one."""
    heading = passage.headings[-1].split() if passage.headings else []
    if heading and len(heading) <= 3 and _CODE_NAME.fullmatch(heading[-1]) and heading[-1] != key:
        return f"{key} of {heading[-1]}"
    needs_more = first.casefold() in _OF_CODE and key.islower() and not re.search(r"[a-z][-_ ][a-z]", key)
    return "" if needs_more else key


def _is_argument(first: str, key: str) -> bool:
    """Return whether the row of a key of a function is one of its arguments."""
    return first.casefold() == "name" and " of " in key


def _meaning_question(thing: str, name: str) -> str:
    return f"What does the {thing} {name} {'do' if thing in _ACTING else 'mean'}?"


def _cell_question(first: str, name: str, key: str, *, is_measure: bool) -> str:
    """Return the question for a column of the row of a key; "" if the headers do not give one."""
    row_is = _lower(first) if first.casefold() in _THINGS else "argument" if _is_argument(first, key) else ""
    if not key:
        return ""
    if is_measure:
        return f"What is the {_lower(name)} of {f'the {row_is} ' if row_is else ''}{key}?"
    if not row_is:
        return ""
    if name.casefold() in _MEANINGS:
        return _meaning_question(row_is, key)
    return f"What is the {_lower(name)} of the {row_is} {key}?" if name.casefold() in _PROPERTIES else ""


def _compared(
    passage: Passage, first: str, name: str, found: Sequence[tuple[Sequence[str], re.Match[str]]]
) -> Iterator[Question]:
    which = f"Which {_lower(first)}" if first.isalpha() and _is_singular(first) else "Which"
    for (one, left), (other, right) in combinations(found[:6], 2):
        values = [float(match[1].replace(",", "").replace("−", "-")) for match in (left, right)]
        if left[2] != right[2] or values[0] == values[1] or set(one[0] + other[0]) & set("(),;:"):
            continue
        more = one[0] if values[0] > values[1] else other[0]
        text = f"{which} has the higher {_lower(name)}, {one[0]} or {other[0]}?"
        why = f"Compares two numbers of a table: {one[0]} has {left[0]}, {other[0]} has {right[0]}."
        yield Question(
            Kind.COMPARISON,
            "table",
            text,
            more,
            (passage,),
            f"{' | '.join(one)}\n{' | '.join(other)}",
            why,
            one[0],
        )


def _is_measure(header: str) -> bool:
    """Return whether a header names something that has a value, such as *maximum size*."""
    words = header.split()
    return (
        bool(re.fullmatch(r"[A-Za-z -]{2,40}", header))
        and len(words) <= 3
        and words[-1].casefold() in _MEASURES
    )


def _lower(name: str) -> str:
    return " ".join(word if not word.istitle() else word.lower() for word in name.split())


def unknown_names(passages: Iterable[Passage]) -> Iterator[tuple[Question, str]]:
    """Yield questions for names that no row of a table has, with the name: parts of two names of one kind."""
    keys: dict[str, set[str]] = defaultdict(set)
    for passage in passages:
        header, *rows = passage.cells or ((),)
        if rows and header[0].casefold() in _THINGS and {one.casefold() for one in header} & _MEANINGS:
            keys[header[0].casefold()].update(row[0] for row in rows if row and _COMPOUND.fullmatch(row[0]))
    for thing, names in sorted(keys.items()):
        for one, other in permutations(sorted(names), 2):
            name = _COMPOUND.sub(r"\1\2", one, count=1) + _COMPOUND.sub(r"\3", other, count=1)
            parts = re.split("[-_]+", name)
            if name not in names and len({*parts}) == len(parts):
                text = _meaning_question(thing, name)
                why = f"No passage has {name}, or a name that differs from it in two letters."
                sentence = f"{one}, {other}"
                yield Question(Kind.UNANSWERABLE, "unknown name", text, None, (), sentence, why, name), name


def item_questions(passage: Passage) -> Iterator[Question]:
    """Yield questions for the items of a list that explain a term: ``term: a thing that ...``."""
    for item in passage.items:
        match = _EXPLAINED.match(item)
        if match is None or not 3 <= len(match[2].split()) <= MAX_CELL:
            continue
        term, meaning = match[1].replace("`", "").strip(), match[2].replace("`", "").strip()
        if content_stems(term) & content_stems(meaning) or not content_stems(term):
            continue
        is_code, root = "`" in match[1], parser()(f"{meaning[:1].upper()}{meaning[1:]}")[:].root
        if root.tag_ == "VBZ" and is_code and not any(one.dep_.startswith("nsubj") for one in root.lefts):
            text = f"What does {term} do?"
        elif not is_code and " " not in term:
            continue
        elif root.tag_ == "NN" and root.left_edge.lower_ in {"a", "an", "the"} and _is_singular(term):
            text = f"What is {term}?" if is_code else f"What is {term[:1].lower()}{term[1:]}?"
        else:
            continue
        why = f"Asks for what a list of {passage.source} explains."
        yield Question(Kind.FACT, "definition", text, meaning.rstrip("."), (passage,), item, why, term)


def _is_singular(term: str) -> bool:
    return parser()(f"It is about {term}.")[-2].tag_ in {"NN", "NNP"}


def step_questions(passage: Passage) -> Iterator[Question]:
    """Yield questions for a step of numbered instructions whose heading names what they do."""
    if len(passage.steps) < 3 or not passage.headings:
        return
    title = passage.headings[-1]
    doc = parser()(f"To {title[:1].lower()}{title[1:]}.")
    if doc[1].tag_ != "VB" or _UNCLEAR.search(title) or len(title.split()) < 3 or title.endswith("?"):
        return
    aim = f"{title[:1].lower()}{title[1:]}"
    for at, step in enumerate(passage.steps):
        answer = next(iter(sentences(step.replace("`", ""))), "")
        if at == 0:
            text = f"What is the first step to {aim}?"
        elif at == len(passage.steps) - 1:
            text = f"What is the last step to {aim}?"
        else:
            continue
        if 3 <= len(answer.split()) <= 30 and len(content_stems(answer)) >= 2:
            why = f"Asks for a step of the instructions under {title!r}."
            yield Question(Kind.FACT, "step", text, answer.rstrip(".;,"), (passage,), answer, why, aim)
