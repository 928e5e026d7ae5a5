"""Asks a judge which of two responses is better, in both orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.metrics.judged.reply_types import Reason

if TYPE_CHECKING:
    from sgi.kernel.prompts import Section
    from sgi.kernel.protocols import Judge

_INSTRUCTIONS = """\
Decide which of two responses answers the question better.
A correct response is better than a wrong one; a complete one is better than one that leaves out part of the \
answer; one that says that it does not know is better than one that is wrong. {reference}Do not prefer a \
response because it is longer, comes first, is more polite or sounds more certain.
better is "response_1", "response_2", or "tie" if both answer the question equally well or equally badly.
reasoning comes before the decision: one or two sentences that name what decides it."""
_REFERENCE = "The reference is a correct answer; a response may say the same in other words. "


class Preference(ReplyModel, strict=True):
    """Which response is better, with the reasoning before it."""

    reasoning: Reason
    better: Literal["response_1", "response_2", "tie"]


_EXAMPLE: dict[str, Section] = {
    "question": "When was the ferry Anke built, and where?",
    "reference": "In Tolvik, in 1950.",
    "response_1": "The Anke was built in 1950, after a long delay that the yard regretted very much.",
    "response_2": "In 1950, at Tolvik.",
}
_REPLY = Preference(reasoning="Both give the year; only response 2 gives the place.", better="response_2")


def _prompt(name: str, reference: str) -> Prompt:
    sections = {key: text for key, text in _EXAMPLE.items() if reference or key != "reference"}
    return Prompt(name, _INSTRUCTIONS.format(reference=reference), (Example(sections, _REPLY),))


WITH_REFERENCE = _prompt("duel.with_reference", _REFERENCE)
WITHOUT_REFERENCE = _prompt("duel.without_reference", "")


class BothOrders(BaseModel, frozen=True):
    """The preferences for two responses A and B.

    Attributes:
        a_first: the reply where A is response 1.
        b_first: the reply where B is response 1.
    """

    a_first: Preference
    b_first: Preference

    @property
    def outcome(self) -> Literal["first", "second", "tie", "order-dependent"]:
        """Which response, A (``first``) or B, wins in both orders; ``tie`` if both replies are ties."""
        match self.a_first.better, self.b_first.better:
            case "response_1", "response_2":
                return "first"
            case "response_2", "response_1":
                return "second"
            case "tie", "tie":
                return "tie"
        return "order-dependent"


async def ask_both_orders(question: str, reference: str, a: str, b: str, judge: Judge) -> BothOrders:
    """Ask the judge twice, with each response first; a blank reference is left out.

    Raises a JudgeError if a reply is not usable.
    """
    prompt = WITH_REFERENCE if reference.strip() else WITHOUT_REFERENCE
    replies = []
    for first, second in ((a, b), (b, a)):
        sections: dict[str, Section] = {"question": question}
        if reference.strip():
            sections["reference"] = reference
        inquiry = prompt.about(**sections, response_1=first, response_2=second)
        replies.append(await judge.ask(inquiry, Preference))
    return BothOrders(a_first=replies[0], b_first=replies[1])
