"""Checks whether a passage supports a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.facts.extract import clauses_of, folded_words, names_of
from sgi.metrics.grounding.facts.name_tables import PLACES, SAME_FIRST_NAME, SAME_THING, SURE_FIRST_NAMES
from sgi.metrics.grounding.facts.number_support import FactMatch
from sgi.metrics.grounding.facts.numbered_names import numbered, numbers_in
from sgi.metrics.grounding.facts.spelling import similar
from sgi.metrics.grounding.facts.words import FUNCTION_WORDS, fold, stem, word_set

if TYPE_CHECKING:
    from sgi.metrics.grounding.facts.fact import Name

_TITLES = word_set(
    """
    dr mr mrs ms prof professor sir president king queen pope saint st captain general lord lady the
    miss senator director actor actress author singer judge emperor empress prince princess duke coach
    chairman chairwoman minister prime governor mayor justice sheriff detective sergeant colonel major
    admiral bishop archbishop cardinal father mother brother sister uncle aunt secretary ambassador
    congressman congresswoman producer writer founder ceo chancellor officer chief vice former late
    drummer guitarist bassist rapper comedian quarterback river mount mt lake inc corp
    corporation co company ltd llc plc
    """
)
# Last words that many names of different things share.
GENERIC_LAST_WORDS = word_set(
    """
    war wars sea city lake street river university college school bank museum award awards prize cup
    league party club state states park island islands bridge hotel act agency commission council
    department institute society church festival series championship open company group association
    building tower airport station day eve house hall theatre theater center centre castle palace stadium
    court cathedral temple road avenue square mountain mountains valley bay beach ocean coast desert forest
    county district region province republic kingdom empire union town village port island army navy force
    team band orchestra records studios pictures press times post news show game games film movie album song
    book novel magazine journal tour trophy medal race bowl battle revolution treaty conference academy
    corporation foundation office service system language people man men woman women boy girl life world
    """
)
"""Last words of names that many different things share ("War", "Building")."""

_ROOT = re.compile(r"(?:(?P<people>ians?|e?ans?|ese|ish|ns?|i)|ia|s|y|o|a|e)$")
_GIVEN_NAMES = word_set(  # that end like the names of peoples
    """
    adrian damian dorian fabian gillian jillian julian lilian lillian lucian marian norman octavian
    sebastian valerian vivian
    """
)
_SHORTEST_ROOT = 4
_WINDOW = 80
_ACRONYM = re.compile(r"[A-Z][A-Z0-9&.-]*[A-Z0-9.]s?")
_LONG_ACRONYM = 3
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_JOINED = frozenset({" ", "\u00a0", "-", " & "})
_PARTS = 2  # a first name and a last name
_START = 3  # letters that a pet form keeps
_INITIALS = 2  # "J", "JK"


def name_support(name: Name, passage: str) -> FactMatch | None:
    """Find where a passage has a name.

    Ignores case, accents, possessives and plurals. Accepts other words between the name's words, a missing
    title, initials for first names, an acronym or its expansion, and place/people pairs ("Italy", "Italian").
    An acronym that looks like a function word ("US", "WHO") needs its capitals, its points, or a "the".

    >>> from sgi.metrics.grounding.facts.extract import names_of
    >>> text = "Millard Fillmore met Joanne Rowling of NASA in Italy."
    >>> candidates = names_of("It was Fillmore, or J. Rowling, or Ada Fillmore")
    >>> [bool(name_support(name, text)) for name in candidates]
    [True, True, False]
    """
    words = folded_words(passage)
    own = numbered(tuple(word for word in name.words if word not in _TITLES or word == "the"))
    numbers = numbers_in(own, passage) if own else set()
    if own and numbers:
        return _locate(name.text, own.head, passage, "same number") if own.number in numbers else None
    ambiguous = is_function_word(name)
    if _has_acronym(name.words[0], passage) if ambiguous else f" {' '.join(name.words)} " in words:
        return _locate(name.text, name.words, passage, "equal")
    core = tuple(word for word in name.words if word not in _TITLES and word not in FUNCTION_WORDS)
    for rule in (_alias, _acronym) if ambiguous else _RULES:
        how = rule(name, core or name.words, passage, words)
        if how:
            return _locate(name.text, core or name.words, passage, how)
    return None


def without_titles(name: Name) -> tuple[str, ...]:
    """Return the words of a name without its titles ("Dr", "President")."""
    return tuple(word for word in name.words if word not in _TITLES)


def is_function_word(name: Name) -> bool:
    """Return whether a name is an acronym that is a function word in small letters ("US", "us")."""
    return (
        len(name.words) == 1 and name.words[0] in FUNCTION_WORDS and _ACRONYM.fullmatch(name.text) is not None
    )


def _has_acronym(word: str, passage: str) -> bool:
    """Return whether a passage has an acronym, and not only the function word with the same letters."""
    if f" {word} " not in folded_words(passage):
        return False
    capitals, points = r"\.?".join(word.upper()), r"\.".join(word)
    return re.search(rf"\b(?:{capitals}|{points}|[Tt]he {word})\b", passage) is not None


def _locate(text: str, words: tuple[str, ...], passage: str, how: str) -> FactMatch:
    """Find the name as written, or its longest word."""
    lowered = passage.lower()
    same_length = len(lowered) == len(passage)
    for part in (text, *sorted(words, key=len, reverse=True)[:1]):
        start = passage.find(part)
        if start < 0 and same_length:
            start = lowered.find(part.lower())
        if start >= 0:
            return FactMatch(passage[start : start + len(part)], start, start + len(part), how)
    return FactMatch("", None, None, how)


def _alias(name: Name, _core: tuple[str, ...], passage: str, words: str) -> str:
    """Match other names of a place, its people, or an initialism, for the whole name or one of its words."""
    whole = " ".join(name.words)
    for form in _forms_of(whole, name.text):
        if _has_form(form, passage, words):
            return "same thing"
    for place, word in enumerate(name.words) if len(name.words) > 1 else ():
        for form in _forms_of(word, word.upper() if f"{word.upper()} " in f"{name.text} " else ""):
            other = " ".join([*name.words[:place], form, *name.words[place + 1 :]])
            if f" {other} " in words:
                return "same thing"
    return ""


def _forms_of(words: str, text: str) -> frozenset[str]:
    """Return other forms of a name; a short one must be in capitals ("OR" is Oregon, "Or" is not)."""
    if len(words) <= _LONG_ACRONYM and text == text.capitalize():
        return frozenset()
    return SAME_THING.get(words, frozenset())


def _has_form(form: str, passage: str, words: str) -> bool:
    if f" {form} " not in words:
        return False
    return len(form) > _LONG_ACRONYM or _has_acronym(form, passage)


def _root(name: Name, core: tuple[str, ...], passage: str, words: str) -> str:
    """Match a name that ends with a place or people with the other form ("Italy", "Italian")."""
    *firsts, last = core
    if (
        not firsts
        and len(name.words) > 1
        and last.capitalize() not in passage
        and last.upper() not in passage
    ):
        return ""  # "the Little Prince" is not any little thing
    if f" {' '.join([*firsts, stem(last)])} " in words:
        return "same root"
    root, _ = _split_root(last)
    start_of_name = f" {' '.join([*firsts, root])}"
    place = words.find(start_of_name)
    while place >= 0:
        start = place + len(start_of_name) - len(root)
        other = words[start : words.index(" ", start)]
        if _same_root(last, other):
            return "same root"
        place = words.find(start_of_name, place + 1)
    return ""


def _same_root(word: str, other: str) -> bool:
    """Return whether two words are the same, singular and plural, or place and people (no given names)."""
    if word in {other, f"{other}s"} or other == f"{word}s" or stem(word) == stem(other):
        return True
    (root, is_people), (other_root, are_people) = _split_root(word), _split_root(other)
    return root == other_root and (is_people or are_people) and not {word, other} & _GIVEN_NAMES


def _split_root(word: str) -> tuple[str, bool]:
    """Return the root of a word of five letters or more, and whether its ending is that of a people."""
    ending = _ROOT.search(word) if len(word) > _SHORTEST_ROOT else None
    return (word[: ending.start()], ending["people"] is not None) if ending else (word, False)


def _apart(name: Name, core: tuple[str, ...], passage: str, words: str) -> str:
    """Match a name if all its words occur close together and do not belong to different names."""
    if len(core) < _PARTS or any(f" {word} " not in words for word in core):
        return ""
    if rivals(name, core, passage):
        return ""
    rarest = min(core, key=words.count)
    for match in re.finditer(f" {re.escape(rarest)} ", words):
        near = words[max(0, match.start() - _WINDOW) : match.end() + _WINDOW]
        if all(f" {word} " in near for word in core):
            return "words apart"
    return ""


def rivals(name: Name, core: tuple[str, ...], passage: str) -> list[Name]:
    """Return names of the passage with the same last word and other first names."""
    if _ACRONYM.fullmatch(name.text.split()[-1]):
        return []
    return [
        other
        for other in names_of(passage)
        if len(other.words) > 1
        and other.words[-1] == core[-1]
        and "of" not in other.words
        and len(core) > 1
        and not set(core[:-1]) & set(other.words)
        and not _abbreviates(core, other.words)
        and not (SAME_FIRST_NAME.get(core[0], frozenset()) & set(other.words))
        and not _TITLES.issuperset(other.words[:-1])
    ]


def _abbreviates(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Return whether one name abbreviates the first names of the other: "J Rowling", "Joanne Rowling"."""
    firsts = [
        word
        for word in words[:-1]
        if any(other.startswith(word) or word.startswith(other) for other in others[:-1])
    ]
    return bool(firsts) and firsts[0] == words[0] and words[-1] == others[-1]


def _initials(_name: Name, core: tuple[str, ...], passage: str, words: str) -> str:
    if len(core) < _PARTS or f" {core[-1]} " not in words:
        return ""
    last = len(core) - 1
    for other in names_of(passage):
        place = other.words.index(core[-1]) if core[-1] in other.words else 0
        firsts = other.words[:place]
        letters = "".join(first[0] for first in firsts)
        has_initial = any(len(first) == 1 for first in firsts)
        is_short = any(len(word) <= _INITIALS or has_initial for word in core[:last])
        if is_short and all(
            word == letters or any(_begins(word, first) for first in firsts) for word in core[:last]
        ):
            return "initials"
    return ""


def _begins(word: str, first: str) -> bool:
    return (
        word == first
        or (len(word) == 1 and first.startswith(word))
        or (len(first) == 1 and word.startswith(first))
    )


def _acronym(name: Name, _core: tuple[str, ...], passage: str, _words: str) -> str:
    """Match an acronym with capitalised words of the passage."""
    if not _ACRONYM.fullmatch(name.text) or (len(name.words) > 1 and "&" not in name.text):
        return ""
    letters = "".join(name.words).removesuffix("s" if name.text.endswith("s") else "")
    for other in names_of(passage):
        if letters in {_letters(other.words, bound=True), _letters(other.words, bound=False)}:
            return "acronym"
    if len(letters) < _LONG_ACRONYM or not letters.isalpha():
        return ""
    return "acronym" if any(letters in run for run in _initials_of_runs(passage)) else ""


@once_per_text
def _initials_of_runs(passage: str) -> frozenset[str]:
    """Return the initials of runs of capitalised words, with and without function words."""
    runs: list[list[str]] = []
    for clause in clauses_of(passage):
        runs.append([])
        small: list[str] = []
        end = clause.start
        for match in _WORD.finditer(passage, clause.start, clause.end):
            word, is_small = match[0], match[0] in FUNCTION_WORDS
            if passage[end : match.start()] not in _JOINED or not (is_small or word[0].isupper()):
                runs.append([])
                small = []
            if is_small:
                small.append(word)
            elif word[0].isupper():
                runs[-1] += [*small, word] if runs[-1] else [word]
                small = []
            end = match.end()
    words = [tuple(fold(" ".join(run)).split()) for run in runs if run]
    return frozenset(_letters(run, bound=bound) for run in words for bound in (True, False))


def _expansion(name: Name, _core: tuple[str, ...], passage: str, _words: str) -> str:
    """Match a full name in the response with its acronym in the passage."""
    if len(name.words) < _PARTS:
        return ""
    both = {_letters(name.words, bound=True), _letters(name.words, bound=False)}
    upper = {fold(match).strip() for match in re.findall(r"\b(?:[A-Z]\.?){2,}", passage)}
    return "acronym" if {letters for letters in both if len(letters) > 1} & upper else ""


def _short_name(_name: Name, core: tuple[str, ...], passage: str, words: str) -> str:
    """Match a short first name with its long form: "Bill", "William"."""
    if len(core) < _PARTS or f" {core[-1]} " not in words:
        return ""
    forms = SAME_FIRST_NAME.get(core[0], frozenset())
    rest = " ".join(core[1:])
    if any(f" {form} {rest} " in words for form in forms):
        return "short name"
    last = core[-1] if len(core) == _PARTS else None
    has_short_form = any(
        other.words[-1] == last and (other.words[0] in forms or _is_pet_form(core[0], other.words[0]))
        for other in names_of(passage)
    )
    return "short name" if has_short_form else ""


def _is_pet_form(word: str, other: str) -> bool:
    """Return whether a first name is formed from another one: "Willie" from "Wilver"."""
    return word.endswith("ie") and len(word) > _START and other.startswith(word[:_START]) and word != other


def _similar(_name: Name, core: tuple[str, ...], passage: str, words: str) -> str:
    """Match a name of the passage with a similar spelling; the other words are the same."""
    spelt = list(core)
    for place, word in enumerate(core):
        if f" {word} " in words:
            continue
        other = next((other for other in _name_words(passage) if _misspelt(word, other)), None)
        if other is None:
            return ""
        spelt[place] = other
    return "similar spelling" if f" {' '.join(spelt)} " in words and tuple(spelt) != core else ""


def _misspelt(word: str, other: str) -> bool:
    if word in PLACES or other in PLACES or (word in SURE_FIRST_NAMES and other in SURE_FIRST_NAMES):
        return other in SAME_FIRST_NAME.get(word, ())
    # "Carla" and "Carlo", "Martin" and "Martina" are different names.
    is_ending = word[:-1] == other[:-1] or word.startswith(other) or other.startswith(word)
    is_name = is_ending and (word in SURE_FIRST_NAMES or other in SURE_FIRST_NAMES)
    return not is_name and similar(word, other)


@once_per_text
def _name_words(passage: str) -> list[str]:
    """Return the distinct words of the names of a passage, sorted."""
    return sorted({word for name in names_of(passage) for word in name.words})


_RULES = (_alias, _root, _apart, _initials, _short_name, _acronym, _expansion, _similar)


def _letters(words: tuple[str, ...], *, bound: bool) -> str:
    return "".join(word[0] for word in words if bound or word not in FUNCTION_WORDS)


def rival(name: Name, passage: str) -> Name | None:
    """Return a name of the passage with the same last word but other first names, or with another number."""
    core = without_titles(name)
    if not core or not FUNCTION_WORDS.isdisjoint(core):
        return None
    own = numbered(core)
    if own:
        for other in names_of(passage):
            theirs = numbered(without_titles(other))
            if theirs and theirs.head == own.head and theirs.number != own.number:
                return other
    if core[-1].isdigit():
        for other in names_of(passage):
            if other.words[-1].isdigit() and other.words[:-1] == name.words[:-1]:
                return other
    return next(iter(rivals(name, core, passage)), None)
