from xml.etree import ElementTree as ET

from harness import Figure
from history import page
from line_chart import line_chart


def record(date, ratio, processor="A", work="bleu, 10,000 answer pairs"):
    seconds = {"ours": [1.0] * 3, "peer": [ratio] * 3}
    figure = Figure(work, "pairs/s", 1.0, 1 / ratio, "sacrebleu", repeats=seconds)
    row = {name: getattr(figure, name) for name in (*figure.__dataclass_fields__, "ratio", "met")}
    about = {"processor": processor, "cores": 2}
    return {
        "date": f"{date}T00:00:00+00:00",
        "committed": date,
        "revision": f"r{date}",
        "machine": about,
        "figures": [row],
    }


def test_ratios_of_a_processor_have_a_chart_and_a_table_and_one_measurement_has_no_line():
    text = page([record("2026-01-01", 5.0), record("2026-01-02", 4.0), record("2026-01-03", 9.0, "B")])
    assert "There are\n3 result files" in text
    first, second = text.split("\n## ")[1:]
    assert first.startswith(
        "A, 2 cores\n\n### BLEU\n\nPeer: sacrebleu. A higher ratio is better. Limit: 10 %."
    )
    assert "| 2026-01-02 | `r2026-01-02` | 4 × | 0.0% | -20.0% (-20.0% to -20.0%) | -10% |" in first
    assert first.count("<svg") == 1
    assert second.startswith("B, 2 cores")
    assert "One measurement, so there is no trend yet." in second
    assert "<svg" not in second


def test_the_chart_has_a_point_for_each_value_and_the_limit_and_no_colour_of_its_own():
    svg = line_chart([5.0, 4.0], ["one", "<two>"], name="BLEU: 5 & 4", bound=4.5)
    root = ET.fromstring(svg)
    heights = [float(each.get("cy")) for each in root.iter("circle")]
    (limit,) = root.iter("line")
    assert heights[0] < float(limit.get("y1")) < heights[1]
    assert [each.text for each in root.iter("text")] == ["4 ×", "5 ×", "one", "<two>"]
    assert root.get("aria-label") == "BLEU: 5 & 4"
    assert {each.get("stroke") or each.get("fill") for each in root.iter() if each is not root} == {
        "currentColor"
    }
    assert "\n" not in svg
