"""Assertion of promptfoo: name this file in `promptfooconfig.yaml`, or run it to see what it returns."""

from sgi.integrations.promptfoo import get_assert

if __name__ == "__main__":
    config = {"metrics": ["grounding"], "thresholds": {"grounding": 0.5}}
    variables = {"contexts": ["The tower was built in 1889.", "The tower is 330 m tall."]}
    for output in ("It was built in 1889.", "It is 312 m tall.", ""):
        result = get_assert(output, {"vars": variables, "config": config})
        print(result["pass"], result["reason"], sorted(result["named_scores"]))
