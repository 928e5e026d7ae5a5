"""Score the rows of a Hugging Face dataset, and use SGI as a metric of `evaluate`."""

import datasets
import evaluate

from sgi.integrations import huggingface

datasets.disable_progress_bars()
PASSAGES = ["The tower was built in 1889.", "The tower is 330 m tall."]
data = datasets.Dataset.from_dict(
    {
        "question": ["When was the tower built?", "How tall is the tower?", "Who built the tower?"],
        "contexts": [PASSAGES, PASSAGES, None],  # the application lost the passages of the third row
        "response": ["It was built in 1889.", "It is 312 m tall.", "Gustave Eiffel."],
    }
)

score = huggingface.ScoreRows(["grounding"])
scored = data.map(score, batched=True, features=score.features(data))
for row in scored:
    value = "none" if row["grounding"] is None else f"{row['grounding']:.2f}"
    print(row["response"], value, row["grounding_status"], row["grounding_reason"])

metric = evaluate.load(huggingface.__file__, metrics=["grounding"])
result = metric.compute(predictions=data["response"], contexts=data["contexts"])
print(f"mean {result['grounding']:.2f}, coverage {result['grounding_coverage']:.0%}")
