"""Words with opposite meanings, and words that say how much, how often or how surely."""

from __future__ import annotations

from sgi.metrics.grounding.words import split_words

# Pairs of which at most one is true of the same thing. The list is ours, not from a lexicon.
_OPPOSITES = """
accept/reject accept/refuse allow/forbid allow/prohibit approve/reject confirm/deny agree/disagree
approve/disapprove increase/decrease rise/fall rose/fell rising/falling grow/shrink grew/shrank
expand/contract gain/lose begin/end start/stop open/closed enter/leave entered/left arrive/depart
raise/lower strengthen/weaken improve/worsen include/exclude import/export hire/fire connect/disconnect
appear/disappear encourage/discourage succeed/fail succeeded/failed success/failure save/waste
attract/repel unite/divide ascend/descend inhale/exhale remember/forget love/hate praise/criticize
lengthen/shorten widen/narrow deepen/lighten accelerate/decelerate tighten/loosen lock/unlock
load/unload cover/uncover enable/disable activate/deactivate obey/disobey alive/dead live/dead hot/cold
warm/cool wet/dry high/low higher/lower highest/lowest large/small larger/smaller largest/smallest
big/small bigger/smaller biggest/smallest tall/short taller/shorter tallest/shortest long/short
longer/shorter longest/shortest old/young older/younger oldest/youngest old/new oldest/newest early/late
earlier/later earliest/latest fast/slow faster/slower fastest/slowest quick/slow quickly/slowly
strong/weak stronger/weaker strongest/weakest heavy/light heavier/lighter heaviest/lightest thick/thin
thicker/thinner wide/narrow wider/narrower deep/shallow deeper/shallower hard/soft harder/softer
difficult/easy rich/poor richer/poorer richest/poorest cheap/expensive cheaper/costlier good/bad
better/worse best/worst happy/sad more/less more/fewer most/least many/few majority/minority
maximum/minimum major/minor north/south northern/southern east/west eastern/western northeast/southwest
northwest/southeast left/right upper/lower inside/outside indoor/outdoor internal/external inner/outer
interior/exterior upstream/downstream inland/coastal male/female man/woman men/women boy/girl
brother/sister father/mother son/daughter uncle/aunt king/queen positive/negative true/false
public/private domestic/foreign ancient/modern temporary/permanent mandatory/optional
compulsory/voluntary required/optional guilty/innocent present/absent presence/absence common/rare
frequent/rare safe/dangerous full/empty visible/hidden natural/artificial simple/complex single/married
solid/liquid acid/alkaline rural/urban summer/winter profit/loss ally/enemy friend/enemy hero/villain
beginning/end birth/death born/died peace/war strength/weakness advantage/disadvantage benefit/harm
optimistic/pessimistic liberal/conservative introvert/extrovert vertical/horizontal convex/concave
odd/even plural/singular active/passive offensive/defensive direct/indirect dominant/recessive
fiction/nonfiction
"""
# "A sold it to B" and "B bought it from A" say the same: they contradict only before the same word.
_CONVERSE = """
buy/sell bought/sold borrow/lend winner/loser win/lose won/lost victory/defeat attack/defend before/after
above/below over/under
"""
# The word with and without a prefix that negates.
_PREFIXED = """
able/unable aware/unaware certain/uncertain clear/unclear common/uncommon usual/unusual likely/unlikely
known/unknown popular/unpopular successful/unsuccessful happy/unhappy safe/unsafe stable/unstable
equal/unequal related/unrelated married/unmarried finished/unfinished healthy/unhealthy
reliable/unreliable necessary/unnecessary fair/unfair lawful/unlawful real/unreal released/unreleased
published/unpublished employed/unemployed limited/unlimited changed/unchanged affected/unaffected
expected/unexpected official/unofficial paid/unpaid familiar/unfamiliar comfortable/uncomfortable
important/unimportant acceptable/unacceptable available/unavailable conscious/unconscious
constitutional/unconstitutional conventional/unconventional predictable/unpredictable
precedented/unprecedented profitable/unprofitable proven/unproven resolved/unresolved skilled/unskilled
willing/unwilling wanted/unwanted usable/unusable treated/untreated true/untrue tested/untested
active/inactive accurate/inaccurate adequate/inadequate complete/incomplete consistent/inconsistent
correct/incorrect dependent/independent effective/ineffective efficient/inefficient
expensive/inexpensive formal/informal frequent/infrequent visible/invisible capable/incapable
compatible/incompatible appropriate/inappropriate significant/insignificant sufficient/insufficient
tolerant/intolerant valid/invalid voluntary/involuntary evitable/inevitable eligible/ineligible
edible/inedible soluble/insoluble sane/insane secure/insecure possible/impossible perfect/imperfect
patient/impatient polite/impolite mature/immature mortal/immortal moral/immoral mobile/immobile
legal/illegal legitimate/illegitimate literate/illiterate logical/illogical regular/irregular
relevant/irrelevant responsible/irresponsible reversible/irreversible rational/irrational
continue/discontinue honest/dishonest similar/dissimilar satisfied/dissatisfied respect/disrespect
toxic/nontoxic existent/nonexistent profit/nonprofit violent/nonviolent verbal/nonverbal trust/distrust
prove/disprove approve/disapprove qualified/disqualified
"""


def _stem(word: str) -> str:
    return split_words(word).stems[0]


def _opposites(*tables: str) -> dict[str, tuple[str, ...]]:
    both: dict[str, dict[str, None]] = {}
    for pair in " ".join(tables).split():
        first, second = (_stem(word) for word in pair.split("/"))
        if first != second:
            both.setdefault(first, {})[second] = None
            both.setdefault(second, {})[first] = None
    return {stem: tuple(others) for stem, others in both.items()}


OPPOSITES = _opposites(_OPPOSITES, _CONVERSE, _PREFIXED)
"""The opposites of each stem."""
CONVERSE = frozenset(_opposites(_CONVERSE))
"""Stems of words that say the same as their opposites if subject and object are exchanged."""

# How much, how often and how surely a sentence says something.
STRENGTHS = {
    word: name
    for name, words in {
        "all": "all every each everyone everything",
        "most": "most",
        "many": "many numerous",
        "some": "some several",
        "few": "few",
        "always": "always invariably",
        "usually": "usually often generally typically commonly frequently normally mostly",
        "sometimes": "sometimes occasionally",
        "rarely": "rarely seldom",
        "may": "may might could possibly perhaps",
        "can": "can",
        "will": "will shall definitely certainly surely",
        "must": "must",
    }.items()
    for word in words.split()
}
"""Words that say how much, how often or how surely, with the name of their group."""

STRONGER = {
    "all": frozenset({"some", "many", "most", "few"}),
    "most": frozenset({"some", "few"}),
    "many": frozenset({"few"}),
    "few": frozenset({"many", "most", "all"}),
    "always": frozenset({"usually", "sometimes", "rarely", "may"}),
    "usually": frozenset({"rarely"}),
    "rarely": frozenset({"usually", "always"}),
    "will": frozenset({"may"}),
    "must": frozenset({"may", "can"}),
    "may": frozenset({"must"}),
}
"""Groups of a passage that do not support the group of a response: it says more, or the opposite."""
MODAL = frozenset({"may", "can", "will", "must"})
