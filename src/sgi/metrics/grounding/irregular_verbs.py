"""Past forms of irregular English verbs."""

from __future__ import annotations

from sgi.metrics.grounding.words import split_words

_VERBS = """
beat/beaten bite/bit/bitten blow/blew/blown break/broke/broken bring/brought build/built burn/burnt buy/bought
catch/caught choose/chose/chosen deal/dealt draw/drew/drawn drink/drank/drunk drive/drove/driven eat/ate/eaten
fall/fell/fallen feed/fed feel/felt fight/fought find/found fly/flew/flown forbid/forbade/forbidden
forget/forgot/forgotten freeze/froze/frozen grow/grew/grown hang/hung hear/heard hide/hid/hidden hold/held
keep/kept know/knew/known lay/laid lead/led leave/left lend/lent lose/lost mean/meant meet/met pay/paid
ride/rode/ridden ring/rang/rung rise/rose/risen run/ran say/said see/saw/seen seek/sought sell/sold send/sent
shake/shook/shaken shine/shone shoot/shot show/shown sing/sang/sung sink/sank/sunk sit/sat sleep/slept
speak/spoke/spoken spend/spent stand/stood steal/stole/stolen stick/stuck strike/struck swear/swore/sworn
sweep/swept swim/swam/swum teach/taught tear/tore/torn tell/told think/thought throw/threw/thrown
understand/understood wake/woke/woken wear/wore/worn win/won write/wrote/written
"""


def _stem(word: str) -> str:
    return split_words(word).stems[0]


IRREGULAR = {
    _stem(past): _stem(verb)
    for verb, *pasts in (entry.split("/") for entry in _VERBS.split())
    for past in pasts
}
"""Stem of the present form by the stem of each past form."""
