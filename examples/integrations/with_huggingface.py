"""Score the rows of a Hugging Face dataset."""

import datasets

import sgi
from sgi.integrations.huggingface import ScoreRows

datasets.disable_progress_bars()
PASSAGES = ["The tower was built in 1889.", "The tower is 330 m tall."]
data = datasets.Dataset.from_dict(
    {
        "question": ["When was the tower built?", "How tall is the tower?", "Who built the tower?"],
        "contexts": [PASSAGES, PASSAGES, None],  # the application lost the passages of the third row
        "response": ["It was built in 1889.", "It is 312 m tall.", "Gustave Eiffel."],
    }
)

score = ScoreRows(["grounding"])
scored = data.map(score, batched=True, features=score.features(data))
for row in scored:
    value = "none" if row["grounding"] is None else f"{row['grounding']:.2f}"
    print(row["response"], value, row["grounding_status"], row["grounding_reason"])

(summary,) = sgi.evaluate(data, ["grounding"]).summary().metrics
print(f"mean {summary.mean:.2f}, coverage {summary.coverage:.0%}")
