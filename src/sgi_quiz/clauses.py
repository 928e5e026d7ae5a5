"""Find the main clauses of a sentence, and turn a clause into a question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgi_quiz.english import word_set
from sgi_quiz.parsing import DISCOURSE, Sentence, is_name, is_person, kept, said

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from spacy.tokens import Token

_JOINING = word_set("joining_nouns")
_ALL_OF_SOMETHING = {"everything", "anything", "something", "nothing", "everyone", "nobody", "someone"}
_KEPT = {"dobj", "dative", "prt", "prep", "agent", "attr", "acomp", "oprd", "xcomp", "advmod", "npadvmod"}
_POINTING = word_set("pointing")
MAX_REST = 40
_DO = {"VBD": "did", "VBZ": "does", "VBP": "do"}


@dataclass(frozen=True, eq=False)
class Clause:
    """A clause with a subject and a finite verb.

    Attributes:
        verb: its main verb.
        subject: the head of the subject.
        auxiliaries: the auxiliary verbs, in order.
        rest: what follows the verb and belongs to it.
        front: a prepositional phrase before the subject, which a question puts at its end.
    """

    sentence: Sentence
    verb: Token
    subject: Token
    auxiliaries: tuple[Token, ...]
    rest: tuple[Token, ...]
    front: tuple[Token, ...] = field(default=())

    @property
    def is_copula(self) -> bool:
        """Return whether the main verb is a form of be."""
        return self.verb.lemma_ == "be" and not self.auxiliaries

    @property
    def finite(self) -> Token:
        """Return the verb that agrees with the subject."""
        return self.auxiliaries[0] if self.auxiliaries else self.verb

    @property
    def attribute(self) -> Token | None:
        """Return the noun that the subject is, if the verb is a form of be."""
        return next((one for one in self.rest if one.dep_ == "attr"), None) if self.is_copula else None

    @property
    def subject_tokens(self) -> frozenset[int]:
        """Return the places of the tokens of the subject."""
        return frozenset(one.i for one in self.subject.subtree)

    @property
    def has_one_subject(self) -> bool:
        """Return whether the subject is not a list."""
        return not list(self.subject.conjuncts)

    def objects(self, *prepositions: str) -> Iterator[tuple[Token, Token]]:
        """Yield each of these prepositions after the verb, with its object."""
        for prep in self.rest:
            found = [one for one in prep.children if one.dep_ == "pobj"]
            if prep.dep_ == "prep" and len(found) == 1 and (prep.lower_ in prepositions or not prepositions):
                yield prep, found[0]

    @property
    def after_tokens(self) -> list[Token]:
        """Return the tokens of the clause beside verb and subject."""
        return [token for one in (*self.rest, *self.front) for token in kept(one)]

    @property
    def has_object(self) -> bool:
        """Return whether the verb has an object."""
        return any(one.dep_ == "dobj" for one in self.rest)

    @property
    def is_passive(self) -> bool:
        """Return whether something is done to the subject."""
        return any(one.dep_ == "auxpass" for one in self.auxiliaries)

    @property
    def has_infinitive(self) -> bool:
        """Return whether the clause leaves out an infinitive: *ordered the flag to be lowered*."""
        return any(
            child.dep_ == "advcl" and any(one.tag_ == "TO" for one in child.lefts) and not _is_apart(child)
            for child in self.verb.rights
        )

    def subject_text(self) -> str:
        """Return the subject in its short form."""
        return said(kept(self.subject))

    def inverted(
        self, wh: str, omit: Collection[int] = (), swap: Mapping[int, str] | None = None, subject: str = ""
    ) -> str:
        """Return a question with the verb before the subject: ``When was the tower built``; "" if none."""
        name = subject or said(kept(self.subject, omit), swap)
        after = self.after(omit, swap)
        if self.auxiliaries:
            first, *others = (token.text.lower() for token in (*self.auxiliaries, self.verb))
            parts = [wh, first, name, " ".join(others), after]
        elif self.verb.lemma_ == "be":
            parts = [wh, self.verb.text.lower(), name, after]
        elif self.verb.tag_ in _DO:
            parts = [wh, _DO[self.verb.tag_], name, self.verb.lemma_, after]
        else:
            return ""
        text = " ".join(filter(None, parts))
        return self.sentence.restored(text[:1].upper() + text[1:] + "?")

    def predicate(self, omit: Collection[int] = (), swap: Mapping[int, str] | None = None) -> str:
        """Return the clause without its subject: ``was built in 1889``."""
        words = " ".join(token.text for token in (*self.auxiliaries, self.verb))
        return " ".join(filter(None, (words, self.after(omit, swap))))

    def after(self, omit: Collection[int] = (), swap: Mapping[int, str] | None = None) -> str:
        """Return what follows the verb, and then what came before the subject."""
        parts = [said(kept(one, omit), swap) for one in (*self.rest, *self.front) if one.i not in omit]
        return " ".join(filter(None, parts))


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses of a sentence from which a question can be made."""
    root = sentence.span.root
    for verb in (
        root,
        *(token for token in root.rights if token.dep_ == "conj" and token.pos_ in {"VERB", "AUX"}),
    ):
        clause = _clause(sentence, verb, root)
        if clause is not None:
            yield clause


def _clause(sentence: Sentence, verb: Token, root: Token) -> Clause | None:
    if verb.pos_ not in {"VERB", "AUX"} or (verb.i and verb.text[0].isupper()):
        return None
    children = list(verb.children)
    subjects = [child for child in children if child.dep_ in {"nsubj", "nsubjpass"} and child.i < verb.i]
    auxiliaries = tuple(child for child in children if child.dep_ in {"aux", "auxpass"})
    if not subjects and verb != root and (auxiliaries or verb.tag_ in _DO):
        subjects = _subjects_before(root, verb, is_bare=not auxiliaries)
    if len(subjects) != 1 or any(
        child.dep_ in {"neg", "ccomp", "expl", "csubj", "intj"} for child in children
    ):
        return None
    if any(word.tag_ == "TO" for word in auxiliaries) or not (auxiliaries or verb.tag_ in _DO):
        return None
    rest = tuple(
        child
        for child in verb.rights
        if child.dep_ in _KEPT
        and child.lower_ not in DISCOURSE
        and not _is_apart(child)
        and not _joins(child)
    )
    front = tuple(
        child
        for child in verb.lefts
        if child.dep_ == "prep"
        and not _joins(child)
        and child.i < subjects[0].i
        and any(one.dep_ == "pobj" for one in child.children)
    )
    clause = Clause(sentence, verb, subjects[0], auxiliaries, rest, front)
    is_long = sum(len(kept(one)) for one in (*rest, *front)) > MAX_REST
    is_open = any(one.right_edge.nbor(1).text != "," for one in front)
    return None if is_long or is_open or _is_misread(clause) else clause


def _subjects_before(root: Token, verb: Token, *, is_bare: bool) -> list[Token]:
    """Return the subject of the first verb, which a second verb without one shares."""
    if any(one.dep_ in {"nsubj", "nsubjpass"} for one in root.doc[root.i : verb.i]):
        return []
    if is_bare and any(child.dep_ == "aux" for child in root.children):
        return []
    return [one for one in root.lefts if one.dep_ in {"nsubj", "nsubjpass"}]


def _is_misread(clause: Clause) -> bool:
    """Return whether a noun or an adjective was taken for the verb: *SGI changes grounded answers*."""
    subject, tag = clause.subject, clause.finite.tag_
    is_plural = subject.tag_ in {"NNS", "NNPS"} or not clause.has_one_subject
    verbs = [one for one in kept(subject) if one.tag_ in {"VBZ", "VBD", "VBP"}]
    has_verb = any(all(up.dep_ not in {"relcl", "acl"} for up in (one, *one.ancestors)) for one in verbs)
    would = any(one.lower_ in {"would", "'d", "having"} for one in (*clause.auxiliaries, clause.verb))
    if has_verb or would:
        return True
    agrees = subject.pos_ not in {"NOUN", "PROPN"} or tag != ("VBZ" if is_plural else "VBP")
    return not agrees or (subject.text in clause.sentence.codes and tag == "VBD")


def _joins(prep: Token) -> bool:
    """Return whether a phrase joins the sentence to its text, such as *in addition*."""
    nouns = [one for one in prep.children if one.dep_ == "pobj"]
    return len(nouns) == 1 and nouns[0].lemma_ in _JOINING and not list(nouns[0].children)


def _is_apart(token: Token) -> bool:
    before = token.doc[token.left_edge.i - 1].text if token.left_edge.i else ""
    return before in {",", "(", "–", "—", "-"}


def is_self_contained(clause: Clause, omit: Collection[int] = ()) -> bool:
    """Return whether the clause can be understood without the text around it."""
    asked = () if clause.subject.i in omit else kept(clause.subject, omit)
    tokens = [
        *asked,
        *(t for one in (*clause.rest, *clause.front) if one.i not in omit for t in kept(one, omit)),
    ]
    used = {token.i for token in tokens}
    own = (
        {"his", "her"}
        if is_person(clause.subject)
        else {"its", "their"}
        if is_name(clause.subject)
        else set()
    )
    below = {token.i for token in clause.subject.subtree}
    if any(
        points_elsewhere(token) and (token.lower_ not in own or token.i in below) for token in tokens
    ) or any(
        token.lower_ in {"only", "even", "no", "none", "neither", "few", "not"}
        for token in kept(clause.subject, omit)
    ):
        return False
    heads = [
        token
        for token in tokens
        if token.pos_ in {"NOUN", "PROPN"} and not (token.dep_ == "compound" and token.head.i in used)
    ]
    if any(is_vague(token, used) for token in heads):
        return False
    names = [token for token in tokens if is_name(token)]
    if clause.verb.tag_ == "VBD" or (clause.auxiliaries and clause.auxiliaries[0].tag_ == "VBD"):
        return bool(names) and not is_indefinite(clause.subject)
    return bool(names) or len({t.lemma_ for t in tokens if t.pos_ in {"NOUN", "ADJ", "VERB", "PROPN"}}) >= 4


def points_elsewhere(token: Token) -> bool:
    """Return whether a word stands for something that the text around it names."""
    if token.tag_ in {"WDT", "WP", "WRB"} and any(one.dep_ == "relcl" for one in token.ancestors):
        return False
    if token.tag_ in {"PRP", "WP", "EX", "WDT", "WRB"}:
        return bool(token.lower_ != "you")
    if token.lower_ in _ALL_OF_SOMETHING:
        return True
    if token.tag_ == "PRP$":
        return bool(token.lower_ != "your")
    if (
        token.lower_ in {"one", "ones"}
        and not list(token.children)
        and token.dep_ in {"nsubj", "nsubjpass", "dobj", "pobj", "attr"}
    ):
        return True
    if token.pos_ == "DET" and token.dep_ in {"nsubj", "nsubjpass", "dobj", "pobj"}:
        return True
    return token.lower_ in _POINTING and token.dep_ != "mark" and token.tag_ != "RBS"


def is_vague(noun: Token, used: Collection[int]) -> bool:
    """Return whether a noun with a definite article does not say which one it is."""
    children = [child for child in noun.children if child.i in used]
    if is_name(noun):
        return False
    if not any(child.lower_ in {"the", "its", "their", "his", "her"} for child in children):
        return False
    for child in children:
        if child.dep_ in {"compound", "nmod", "poss"}:
            return False
        if child.dep_ in {"relcl", "acl"} or child.tag_ == "JJS":
            return False
        if child.dep_ == "prep" and any(
            one.i in used and (is_name(one) or list(one.children)) for one in child.children
        ):
            return False
        if child.dep_ == "amod" and is_name(child):
            return False
    return noun.lemma_ not in {
        "world",
        "internet",
        "sun",
        "moon",
        "earth",
        "sky",
        "sea",
        "universe",
        "public",
    }


def is_indefinite(noun: Token) -> bool:
    """Return whether a noun does not say which one of its kind it is."""
    return not is_name(noun) and (
        any(child.lower_ in {"a", "an", "some", "many", "several", "few", "one"} for child in noun.children)
        or (
            noun.tag_ == "NNS"
            and not any(child.pos_ in {"DET", "NUM"} or is_name(child) for child in noun.children)
        )
    )
