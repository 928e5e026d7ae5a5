"""Score the answers of a small RAG application with MLflow, and log a stored run of SGI."""

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import mlflow

import sgi
from sgi.integrations.mlflow import SgiScorer, log_run

PASSAGES = ["The tower was built in 1889.", "The tower is 330 m tall."]
ANSWERS = {
    "When was the tower built?": {"answer": "It was built in 1889.", "contexts": PASSAGES},
    "How tall is the tower?": {"answer": "It is 312 m tall.", "contexts": PASSAGES},
    "Who built the tower?": {"answer": "Gustave Eiffel."},  # the application lost its passages
}

mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.set_experiment("tower")

# 1. A scorer for mlflow.genai.evaluate.
data = [{"inputs": {"question": question}, "outputs": output} for question, output in ANSWERS.items()]
with redirect_stdout(sys.stderr):  # MLflow prints messages of its own
    result = mlflow.genai.evaluate(data=data, scorers=[SgiScorer(metrics=["grounding"])])
feedbacks = {}
for trace in mlflow.search_traces(run_id=result.run_id, return_type="list"):
    question = json.loads(trace.data.request)["question"]
    feedbacks[question] = next(each for each in trace.info.assessments if each.name == "grounding")
for question in ANSWERS:
    feedback = feedbacks[question]
    print(f"{question:26}", feedback.error.error_message if feedback.error else f"{feedback.value:.2f}")
for name, value in result.metrics.items():
    print(f"{name:26} {value:.2f}")

# 2. A run of SGI, logged to MLflow.
rows = [{"question": question, **output} for question, output in ANSWERS.items()]
Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
run = sgi.run("rows.jsonl", ["grounding"], name="nightly")
logged = mlflow.get_run(log_run(run))
for name, value in sorted(logged.data.metrics.items()):
    print(f"{name:26} {value:.2f}")
