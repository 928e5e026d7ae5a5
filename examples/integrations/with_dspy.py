"""Evaluate a small RAG program of DSPy."""

import dspy

from sgi.integrations.dspy import SgiEvaluate, SgiMetric

PASSAGES = ["The tower was built in 1889.", "The tower is 330 m tall."]
ANSWERS = {
    "When was the tower built?": {"answer": "It was built in 1889.", "context": PASSAGES},
    "How tall is the tower?": {"answer": "It is 312 m tall.", "context": PASSAGES},
    "Who built the tower?": {"answer": "Gustave Eiffel."},  # the program lost its passages
}


class Rag(dspy.Module):
    """Replace this with your program: it returns the answer and the passages that it used."""

    def forward(self, question: str) -> dspy.Prediction:
        """Answer a question."""
        return dspy.Prediction(**ANSWERS[question])


devset = [dspy.Example(question=question).with_inputs("question") for question in ANSWERS]
evaluate = SgiEvaluate(devset=devset, metric=SgiMetric("grounding"), num_threads=4)
result = evaluate(Rag())
for example, _, score in result.results:
    print(f"{example.question:26} {score.score:.2f} {score.feedback}".rstrip())
print(f"mean {result.score:.1f}, coverage {result.coverage:.0%}")
