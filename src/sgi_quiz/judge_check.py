"""Let a judge check the questions of a quiz, and write them in other words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from sgi.engine.evaluate import run_outside_loop
from sgi.engine.in_thread import first_error
from sgi.engine.model_wrappers import BudgetAsFailure
from sgi.engine.open_resources import open_judge
from sgi.engine.progress import Advanced, Finished, Started
from sgi.kernel.errors import JudgeError
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.kernel.protocols import usage_of
from sgi.metrics.grounding.names_in_text import names_of
from sgi.metrics.grounding.value_support import value_support, values_of
from sgi.metrics.judged.reply_types import Binary, Reason, Statement, portions
from sgi.reporting.safe_text import one_line, plain
from sgi_quiz.parsing import content_stems
from sgi_quiz.question import Kind
from sgi_quiz.quiz_update import questions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.engine.progress import Listener
    from sgi.engine.run_options import RunOptions
    from sgi.kernel.prompts import Section
    from sgi.kernel.protocols import Judge, Usage
    from sgi_quiz.review_file import QuizRow

_MARK = re.compile(r"\d|\w[_./\\@#$%&+=]+\w|\w[A-Z]|^[-_./\\@#$]\w")
"""What a number, a piece of code or an acronym has in it, and no other word."""
_CODE = re.compile("`([^`]+)`")
_NOT = re.compile(r"\b(?:not?|never|none|without|cannot)\b|n['’]t\b", re.IGNORECASE)
_FIXED = (Kind.TYPOS, Kind.FAQ)
"""Questions that are not rephrased: their words are what they test, or those of a person."""
_AROUND = " ?!.,;:\"'“”‘’()[]`"
_MORE = 60
"""The number of characters that a rephrased question may have beyond twice those of the question."""
_REASONS = 3
"""The number of reasons that are printed."""


class Check(ReplyModel, strict=True):
    """Whether a question is clear and answered, and the question in other words."""

    reason: Reason
    clear: Binary
    answered: Binary
    question: Statement


PROMPT = Prompt(
    "quiz.check",
    """\
Check a question that tests a search system, and write it in other words. The system searches many \
documents; whoever asks has not read them.

clear: 1 if a reader who does not have the passages knows what is asked, 0 if the question does not say what \
it is about, or cannot be understood. A question after turns may need them. Typing errors do not make a \
question unclear, nor does an assumption that is false.
answered: 1 if the passages answer the question, and the reference is the right answer by them, 0 if not. \
Without passages: 1.
question: the same question as a person would type it, in other words and in another order where the meaning \
allows it. Keep all names, numbers, units and pieces of code as they are, also wrong ones. Add no name, no \
number and nothing of the answer. A question that needs its turns still needs them.
reason comes first: one sentence about clarity and the answer.""",
    (
        Example(
            {
                "question": "When was the ferry Anke launched?",
                "reference": "spring 1950",
                "passages": ("The yard at Tolvik launched the Anke in spring 1950.",),
            },
            Check(
                reason="It names the ferry, and the passage says that it was launched in spring 1950.",
                clear=1,
                answered=1,
                question="On what date did the ferry Anke first go into the water?",
            ),
        ),
        Example(
            {
                "question": "What does the other one carry?",
                "reference": "14 knots",
                "passages": ("The Anke carries 240 passengers at 14 knots.",),
            },
            Check(
                reason="It does not say which one, and the passage says that it carries passengers.",
                clear=0,
                answered=0,
                question="What is on board of the other one?",
            ),
        ),
        Example(
            {
                "turns": ("user: Who designed the Anke?", "assistant: Greta Holm"),
                "question": "And who paid her for it?",
            },
            Check(
                reason="With the turns, it asks who paid Greta Holm for the design of the Anke.",
                clear=1,
                answered=1,
                question="Who gave her the money for that?",
            ),
        ),
    ),
)


@dataclass
class CheckedRows:
    """The rows that a judge did not leave out, and what it did.

    Attributes:
        rows: the rows, in order.
        judge: the name of the judge.
        usage: requests, tokens and cost.
        checked: the number of usable replies.
        rephrased: the number of rows that have the question of the judge.
        refused: the number of rephrased questions that were not used, by reason.
        left_out: the number of rows that were left out, by reason.
        unchecked: the number of rows that are as the rules made them, by reason.
    """

    rows: list[QuizRow]
    judge: str
    usage: Usage
    checked: int = 0
    rephrased: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    unchecked: Counter[str] = field(default_factory=Counter)

    def facts(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        counters = {name: dict(getattr(self, name)) for name in ("refused", "left_out", "unchecked")}
        usage = {name: getattr(self.usage, name) for name in ("calls", "cached", "cost")}
        return {"name": self.judge, "checked": self.checked, "rephrased": self.rephrased} | counters | usage

    def lines(self) -> Iterator[str]:
        """Yield the counts as lines."""
        cost = "unknown cost" if self.usage.cost is None else f"{self.usage.cost:.4f} US dollars"
        yield (
            f"Judge {one_line(self.judge)}: {self.checked:,} questions checked, {self.rephrased:,} "
            f"rephrased; {self.usage.calls:,} calls, {self.usage.cached:,} from the cache, {cost}"
        )
        for what, counter in (
            ("were left out", self.left_out),
            ("kept their words", self.refused),
            ("were not checked", self.unchecked),
        ):
            if counter:
                common = counter.most_common(_REASONS)
                reasons = "; ".join(
                    f"{one_line(reason, longest=200)} ({count:,})" for reason, count in common
                )
                more = f"; {len(counter) - _REASONS:,} other reasons" if len(counter) > _REASONS else ""
                yield f"{counter.total():,} questions {what}: {reasons}{more}"

    def changed(self, row: QuizRow, question: str, taken: set[str]) -> QuizRow:
        """Return a checked row, with the question of the judge unless there is a reason against it."""
        checked = row.model_copy(update={"checked_by": self.judge})
        new = checked.with_question(question)
        if questions_of(new) == questions_of(row):
            return checked
        reason = refusal(row, question)
        if not reason and questions_of(new) <= taken:
            reason = "another question has the same words"
        if reason:
            self.refused[reason] += 1
            return checked
        self.rephrased += 1
        taken |= questions_of(new)
        easier = {"difficulty": "medium"} if row.difficulty == "easy" else {}
        return new.model_copy(update={"generated_question": row.question} | easier)


def check_rows(rows: Sequence[QuizRow], options: RunOptions, listener: Listener) -> CheckedRows:
    """Ask the judge of the options about each row that no person has decided; return these rows.

    A row without a usable reply stays as it is. The question of a typing-error row, of the question that it
    repeats, and of a heading is not rephrased.

    Raises:
        JudgeError: there is no usable reply about any row.
        UsageError: a setting of the judge is missing.
    """

    async def work() -> CheckedRows:
        async with open_judge(options) as judge:
            fresh = [row for row in rows if row.review is None]
            replies = await _ask_all(fresh, BudgetAsFailure(judge), listener)
            name = options.judge.model if options.judge else judge.fingerprint
            return _apply(
                rows, dict(zip((row.id for row in fresh), replies, strict=True)), name, usage_of(judge)
            )

    return run_outside_loop(work)


async def _ask_all(rows: Sequence[QuizRow], judge: Judge, listener: Listener) -> list[Check | JudgeError]:
    replies: list[Check | JudgeError] = [JudgeError("The judge was not asked.")] * len(rows)

    async def ask(place: int, row: QuizRow) -> None:
        try:
            replies[place] = await _ask(row, judge)
        except JudgeError as error:
            replies[place] = error
        listener(Advanced(1))

    listener(Started("questions", len(rows)))
    try:
        async with anyio.create_task_group() as group:
            for place, row in enumerate(rows):
                group.start_soon(ask, place, row)
    except BaseExceptionGroup as raised:
        raise first_error(raised) from None
    listener(Finished("questions"))
    errors = [reply for reply in replies if isinstance(reply, JudgeError)]
    if errors and len(errors) == len(rows):
        raise errors[0]
    return replies


async def _ask(row: QuizRow, judge: Judge) -> Check:
    sections: dict[str, Section] = {}
    if row.turns:
        sections["turns"] = tuple(f"{turn.get('role')}: {turn.get('text')}" for turn in row.turns[:-1])
    sections["question"] = row.question
    if row.reference is not None:
        parts = portions(row.gold_passages, judge.budget)
        if len(parts) != 1:
            raise JudgeError("The passages are longer than the judge's budget, or blank.")
        sections |= {"reference": row.reference, "passages": parts[0].texts}
    return await judge.ask(PROMPT.about(**sections), Check)


def _apply(
    rows: Sequence[QuizRow], replies: Mapping[str, Check | JudgeError], judge: str, usage: Usage
) -> CheckedRows:
    """Return the rows with a reply as the judge wants them, and the others as they are."""
    result = CheckedRows([], judge, usage)
    faults = {row.id: fault for row in rows if (fault := _fault(row, replies.get(row.id)))}
    same_words = {row.same_as for row in rows if row.kind == Kind.TYPOS}
    taken = {asked for row in rows for asked in questions_of(row)}
    for row in (one for one in rows if one.id in replies):
        reply = replies[row.id]
        result.checked += isinstance(reply, Check)
        if row.id in faults or row.same_as in faults:
            result.left_out[faults.get(row.id, "the question that they repeat was left out")] += 1
        elif isinstance(reply, JudgeError):
            result.unchecked[str(reply)] += 1
            result.rows.append(row)
        else:
            fixed = row.kind in _FIXED or row.id in same_words
            result.rows.append(result.changed(row, row.question if fixed else plain(reply.question), taken))
    return result


def _fault(row: QuizRow, reply: Check | JudgeError | None) -> str:
    if not isinstance(reply, Check):
        return ""
    if not reply.clear:
        return "unclear without the document"
    return "" if reply.answered or row.reference is None else "the passages do not give this answer"


def refusal(row: QuizRow, question: str) -> str:
    """Return why the question of a judge cannot replace that of a row; "" if it can.

    >>> from sgi_quiz.review_file import QuizRow
    >>> row = QuizRow(id="1", question="When was the Anke launched?", reference="spring 1950")
    >>> [refusal(row, text) for text in ("When did the Anke first sail?", "When did it first sail?")]
    ['', 'a name, a number or a piece of code is lost or added']
    """
    code = {code for text in row.gold_passages for code in _CODE.findall(text) if code in row.question}
    lost = not _has_marks(row.question, question) or any(one not in question for one in code)
    if lost or not _has_marks(question, row.question):
        return "a name, a number or a piece of code is lost or added"
    if bool(_NOT.search(question)) != bool(_NOT.search(row.question)):
        return "a negation is lost or added"
    answer = content_stems(row.reference or "") - content_stems(row.question)
    if answer and 2 * len(answer & content_stems(question)) >= len(answer):
        return "the answer is in the rephrased question"
    return "the rephrased question is too long" if len(question) > 2 * len(row.question) + _MORE else ""


def _has_marks(question: str, other: str) -> bool:
    """Return whether another question has the names, the numbers and the code of a question."""
    marked = {word for word in _words(question) if _MARK.search(word)}
    marked.update(word for name in names_of(question) for word in _words(name.text))
    there = {word.casefold() for word in _words(other)}
    values = values_of(question)
    return all(word.casefold() in there for word in marked) and all(
        value_support(question, value, other) for value in (*values.quantities, *values.dates)
    )


def _words(text: str) -> list[str]:
    return [re.sub("['’]s$", "", word.strip(_AROUND)) for word in text.split()]
