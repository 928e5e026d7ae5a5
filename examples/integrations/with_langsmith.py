"""Score an experiment of LangSmith; without ``upload_results=False``, LangSmith shows the same scores."""

import sys
import uuid
from contextlib import redirect_stdout

from langsmith import Client, evaluate, traceable
from langsmith.schemas import Example

from sgi.integrations.langsmith import SgiEvaluator

PASSAGES = [
    "The Eiffel Tower is 330 m tall. The company of Gustave Eiffel built it from 1887 to 1889.",
    "Mars is called the red planet, since its dust is full of rust. Its moons are Phobos and Deimos.",
    "William Herschel discovered Uranus in 1781 with a telescope he had built himself.",
]
ANSWERS = {
    "How tall is the Eiffel Tower?": "The Eiffel Tower is 312 m tall.",
    "What are the moons of Mars?": "The moons of Mars are Phobos and Deimos.",
    "Who discovered Uranus?": "",  # the model returned nothing
}


@traceable(run_type="retriever")
def retrieve(question: str) -> list[dict]:
    """Your retriever: here it returns the passage that shares the most words with the question."""
    words = set(question.rstrip("?").split())
    best = max(PASSAGES, key=lambda passage: len(words & set(passage.split())))
    return [{"page_content": best, "type": "Document"}]


def rag(inputs: dict) -> dict:
    """Your application: here it returns recorded answers, so that the example runs offline."""
    retrieve(inputs["question"])
    return {"answer": ANSWERS[inputs["question"]]}


examples = [
    Example(id=uuid.uuid4(), inputs={"question": question}, outputs={"answer": None}) for question in ANSWERS
]
with redirect_stdout(sys.stderr):  # LangSmith prints the name of the experiment
    results = evaluate(
        rag,
        data=examples,  # or the name of a dataset
        evaluators=[SgiEvaluator(["grounding"])],
        upload_results=False,
        client=Client(api_key="offline", auto_batch_tracing=False),
    )
scores = [{result.key: result for result in row["evaluation_results"]["results"]} for row in results]
for question, score in zip(ANSWERS, scores, strict=True):
    grounding = score["grounding"]
    value = "" if grounding.score is None else f"{grounding.score:.2f}  "
    print(f"{question:30}  {value}{grounding.comment or ''}".rstrip())
print("coverage", sum(score["grounding.coverage"].score for score in scores) / len(scores))
