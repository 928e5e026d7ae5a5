"""Score the answers of a small RAG application with Weave."""

import asyncio

import weave

from sgi.integrations.weave import SgiScorer

PASSAGES = ["The tower was built in 1889.", "The tower is 330 m tall."]
ANSWERS = {
    "When was the tower built?": {"answer": "It was built in 1889.", "contexts": PASSAGES},
    "How tall is the tower?": {"answer": "It is 312 m tall.", "contexts": PASSAGES},
    "Who built the tower?": {"answer": "Gustave Eiffel."},  # the application lost its passages
}


@weave.op
def rag(question: str) -> dict[str, object]:
    """Replace this with your application: it returns the answer and the passages that it used."""
    return ANSWERS[question]


# weave.init("my-project") would record the evaluation in your project.
data = [{"question": question} for question in ANSWERS]
evaluation = weave.Evaluation(dataset=data, scorers=[SgiScorer(metrics=["grounding"])])
summary = asyncio.run(evaluation.evaluate(rag))["SgiScorer"]["grounding"]
print(f"mean {summary['mean']:.2f}, coverage {summary['ok']} of {summary['rows']} rows")
