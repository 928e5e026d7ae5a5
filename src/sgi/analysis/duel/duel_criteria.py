"""Criteria by which a judge compares two responses, each with its prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sgi.kernel.errors import UnknownNameError
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.metrics.judged.reply_types import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.prompts import Inquiry, Section

Better = Literal["response_1", "response_2", "tie"]


class Preference(ReplyModel, strict=True):
    """Which response is better, with the reasoning before it."""

    reasoning: Reason
    better: Better


@dataclass(frozen=True)
class Criterion:
    """What makes a response better than another one.

    Attributes:
        name: its name after ``--on``.
        prompt: the question to the judge.
        with_reference: the question if the row has a reference; None if the judge never sees a reference.
    """

    name: str
    prompt: Prompt
    with_reference: Prompt | None = None

    def inquiry(self, question: str, reference: str, first: str, second: str) -> Inquiry:
        """Return the request about two responses in this order; a blank reference is left out."""
        sections: dict[str, Section] = {"question": question}
        prompt = self.prompt
        if self.with_reference is not None and reference.strip():
            prompt = self.with_reference
            sections["reference"] = reference
        return prompt.about(**sections, response_1=first, response_2=second)


_INSTRUCTIONS = """\
Decide which of two responses answers the question better.
A correct response is better than a wrong one; a complete one is better than one that leaves out part of the \
answer; one that says that it does not know is better than one that is wrong. {reference}Do not prefer a \
response because it is longer, comes first, is more polite or sounds more certain.
better is "response_1", "response_2", or "tie" if both answer the question equally well or equally badly.
reasoning comes before the decision: one or two sentences that name what decides it."""
_REFERENCE = "The reference is a correct answer; a response may say the same in other words. "
_FERRY: dict[str, Section] = {
    "question": "When was the ferry Anke built, and where?",
    "reference": "In Tolvik, in 1950.",
    "response_1": "The Anke was built in 1950, after a long delay that the yard regretted very much.",
    "response_2": "In 1950, at Tolvik.",
}
_FERRY_REPLY = Preference(
    reasoning="Both give the year; only response 2 gives the place.", better="response_2"
)


def _general(name: str, reference: str) -> Prompt:
    sections = {key: text for key, text in _FERRY.items() if reference or key != "reference"}
    return Prompt(name, _INSTRUCTIONS.format(reference=reference), (Example(sections, _FERRY_REPLY),))


_RUBRIC = """\
Compare two responses to a question by one criterion only: {name}.
{definition}
{limits}
It does not matter which response comes first, which is longer, more polite, better formatted or more \
certain in tone, or which is better in any other respect.
better is "response_1", "response_2", or "tie" if {tie}.
reasoning comes before the decision: one or two sentences that name what decides it."""


def _criterion(
    name: str,
    definition: str,
    limits: str,
    tie: str,
    question: str,
    responses: tuple[str, str],
    better: Better,
    reasoning: str,
) -> Criterion:
    sections: dict[str, Section] = {
        "question": question,
        "response_1": responses[0],
        "response_2": responses[1],
    }
    instructions = _RUBRIC.format(name=name, definition=definition, limits=limits, tie=tie)
    example = Example(sections, Preference(reasoning=reasoning, better=better))
    return Criterion(name, Prompt(f"duel.{name}", instructions, (example,)))


_BETTER_ANSWER = Criterion(
    "better_answer",
    _general("duel.without_reference", ""),
    _general("duel.with_reference", _REFERENCE),
)
_COMPREHENSIVENESS = _criterion(
    "comprehensiveness",
    definition="The more comprehensive response covers more of the aspects that the question asks about, and "
    "gives the details that each of them needs.",
    limits="Count distinct points that belong to the answer. The same point in other words, an introduction, "
    "a summary and remarks beside the question add nothing.",
    tie="both cover the same aspects in the same detail, or neither covers any",
    question="What changed in the harbour of Tolvik after the storm?",
    responses=(
        "The harbour changed a lot after the storm. The changes were large, and people speak of them.",
        "The quay was rebuilt in stone, the ferry moved to the north pier, and fewer boats may fish.",
    ),
    better="response_2",
    reasoning="Response 1 repeats that there were changes and names none; response 2 names three.",
)
_DIVERSITY = _criterion(
    "diversity",
    definition="The more diverse response looks at the question from more different sides: other groups of "
    "people, causes, periods, opinions or kinds of evidence.",
    limits="Count perspectives that differ in substance. More examples of one perspective, and other words "
    "for it, are not diverse.",
    tie="both show the same number of different perspectives",
    question="How do people in Tolvik see the new ferry?",
    responses=(
        "Shopkeepers welcome its visitors, fishers fear for their berths, and the council fears the cost.",
        "Shopkeepers like it: the bakery sells more, the inn is full, and the bookshop has new customers.",
    ),
    better="response_1",
    reasoning="Response 1 gives three views that differ; response 2 gives one view with three examples.",
)
_EMPOWERMENT = _criterion(
    "empowerment",
    definition="The more empowering response enables the reader to understand the subject and to form a "
    "judgement: it gives reasons, evidence, sources or comparisons for what it says.",
    limits="Bare claims, praise of the reader, and advice to look elsewhere do not empower. Facts that "
    "explain nothing count for little.",
    tie="both give the reader equal means to form a judgement",
    question="Should Tolvik keep its old ferry?",
    responses=(
        "It should be sold as soon as possible. That is clearly the best choice, and you can rely on it.",
        "It burns twice the fuel of a new one; by the council's report, a new one pays off in nine years.",
    ),
    better="response_2",
    reasoning="Response 1 only asserts a choice; response 2 gives costs and a source to judge it by.",
)
_DIRECTNESS = _criterion(
    "directness",
    definition="The more direct response answers exactly what is asked, in specific and clear words, so that "
    "the answer can be found at once.",
    limits="Detours, generalities, and material that was not asked for make a response less direct. A short "
    "response that does not answer is not direct.",
    tie="both answer equally directly, or neither answers",
    question="Who owns the ferry Anke?",
    responses=(
        "The town of Tolvik owns the Anke.",
        "Ferries often change hands here. The Anke, too, has had several owners; the town was one.",
    ),
    better="response_1",
    reasoning="Response 1 names the owner at once; response 2 leaves open who owns it now.",
)
CRITERIA = {
    one.name: one for one in (_BETTER_ANSWER, _COMPREHENSIVENESS, _DIVERSITY, _EMPOWERMENT, _DIRECTNESS)
}
"""The criteria by name; all but ``better_answer`` are of Edge et al. (2024), arXiv:2404.16130, in our words.

For those, the judge sees no reference: global questions have none, a reference would reward agreement with it
instead of the criterion, and so all rows are judged alike.
"""
DEFAULT_CRITERION = "better_answer"
MAX_AA_QUESTIONS = 50
"""Default of the maximum number of questions of the A/A test."""


def criteria_named(names: Iterable[str]) -> tuple[Criterion, ...]:
    """Return the criteria with these names, each once; `DEFAULT_CRITERION` without names.

    Raises:
        UnknownNameError: there is no such criterion.
    """
    wanted = [*dict.fromkeys(names)] or [DEFAULT_CRITERION]
    for name in wanted:
        if name not in CRITERIA:
            raise UnknownNameError("criterion", name, hint=f"The criteria are: {', '.join(CRITERIA)}.")
    return tuple(CRITERIA[name] for name in wanted)
