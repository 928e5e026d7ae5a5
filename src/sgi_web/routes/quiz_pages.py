"""The page on which people keep, edit or drop the questions of a quiz."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form
from pydantic import AfterValidator, BaseModel
from starlette.requests import Request
from starlette.responses import Response

from sgi_quiz.review_file import Review
from sgi_web.access import EDITOR, OWN_FORM
from sgi_web.pages import NotFoundError, page, redirect
from sgi_web.site import site_of, unescaped, with_query

router = APIRouter(include_in_schema=False)


class QuizForm(BaseModel):
    """The form with a decision."""

    row: Annotated[str, AfterValidator(unescaped)] = ""
    answer: Literal["keep", "drop", "undo"]
    question: str = ""
    reference: str = ""
    form_key: str = ""


def _review(request: Request) -> Review:
    review = site_of(request).quiz
    if review is None:
        hint = "Start the server with `sgi serve --quiz quiz.jsonl`."
        raise NotFoundError("This server has no quiz to review.", hint=hint)
    return review


Reviewed = Annotated[Review, Depends(_review)]


@router.get("/quiz", dependencies=[EDITOR])
def show(request: Request, review: Reviewed, row: str = "") -> Response:
    """Show the next question, or the one that was just taken back."""
    quiz = review.read()
    pending = sorted(quiz.pending, key=lambda one: one.id != row)
    return page(request, "quiz.html", quiz=quiz, counts=quiz.counts(), row=pending[0] if pending else None)


@router.post("/quiz", dependencies=[OWN_FORM])
def decide(request: Request, review: Reviewed, form: Annotated[QuizForm, Form()]) -> Response:
    """Store a decision, and show the next question."""
    author, back = request.state.person.name, None
    if form.answer == "keep":
        review.keep(form.row, form.question, form.reference, author)
    elif form.answer == "drop":
        review.drop(form.row, author)
    else:
        back = review.undo(author)
    return redirect(with_query("/quiz", {"row": back}))
