"""Write the figures of docs/explanation/statistics-in-plain-words.md, from scores of the bundled sample.

python scripts/make_statistics_figures.py [FOLDER]
"""

from __future__ import annotations

import sys
from html import escape
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import sgi
from sgi.stats.intervals import Interval
from sgi.stats.means import mean_interval
from sgi.stats.ranking import auroc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH, LEFT, RIGHT = 480, 42, 468
SAMPLES = 20
_STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1c2024 }
.paper { fill: #fff } .axis { stroke: #8b8d98 } .goal { stroke: #1c2024; stroke-dasharray: 5 3 }
.good { fill: #0d74ce; stroke: #0d74ce } .bad { fill: none; stroke: #ce2c31 } .line { stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #edeef0 } .paper { fill: #131416 } .axis { stroke: #696e77 } .goal { stroke: #edeef0 }
.good { fill: #70b8ff; stroke: #70b8ff } .bad { stroke: #ff9592 }
}
""".strip()


def grounding_scores() -> Floats:
    """Score the sample: one line for each question, the right answer before the wrong one."""
    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as sample:
        values: Floats = sgi.evaluate(str(sample), ["grounding"])["grounding"].values
    return values.reshape(-1, 2)


def intervals_figure(scores: Floats) -> str:
    """Draw intervals of 20 samples of 20 questions, and of 20 samples of 100 questions."""
    means = np.nanmean(scores, axis=1)
    chance = np.random.default_rng(3)  # a sample with the usual number of misses, 1 in 20
    parts = [line for top, count in ((0, 20), (180, 100)) for line in _panel(means, count, top, chance)]
    return _svg(360, "Intervals of the mean of 20 samples of 20 questions, and of 20 samples of 100", parts)


def _panel(means: Floats, count: int, top: int, chance: np.random.Generator) -> Iterator[str]:
    goal = float(means.mean())
    drawn = [mean_interval(chance.choice(means, count), low=0, high=1) for _ in range(SAMPLES)]
    intervals = [interval for interval in drawn if isinstance(interval, Interval)]
    hits = [interval.low <= goal <= interval.high for interval in intervals]
    yield _text(
        LEFT, top + 22, f"{count} questions each: {sum(hits)} of {len(hits)} intervals contain the mean"
    )

    def height(value: float) -> float:
        return top + 36 + (0.8 - value) / 0.4 * 130

    for tick in (0.4, 0.6, 0.8):
        yield _text(6, height(tick) + 5, f"{tick:.1f}")
        yield f'<path class="axis" d="M{LEFT - 4} {height(tick):.1f}h4"/>'
    yield f'<path class="goal" d="M{LEFT} {height(goal):.1f}H{RIGHT}"/>'
    for number, (interval, hit) in enumerate(zip(intervals, hits, strict=True)):
        x = LEFT + 14 + number * 21
        low, high = height(interval.low), height(interval.high)
        ends = f"M{x} {high:.1f}V{low:.1f}M{x - 4} {high:.1f}h8M{x - 4} {low:.1f}h8"
        yield f'<path class="line {"good" if hit else "bad"}" d="{ends}"/>'


def auroc_figure(scores: Floats) -> str:
    """Draw the scores of the right and the wrong answers to the first 20 questions, and their AUROC."""
    right, wrong = scores[:20].T
    pairs = right[:, None] - wrong[None, :]
    area = auroc(np.concatenate([right, wrong]), np.repeat([True, False], 20))
    title = f"{(pairs > 0).sum()} of {pairs.size} pairs are in the right order: AUROC {area:.3f}"
    parts = [_text(12, 24, title)]
    for name, values, y, kind in (("right", right, 58, "good"), ("wrong", wrong, 94, "line bad")):
        parts.append(_text(12, y + 5, name))
        parts += [f'<circle class="{kind}" cx="{_place(value):.1f}" cy="{y}" r="5"/>' for value in values]
    parts.append(f'<path class="axis" d="M{_place(0)} 118H{_place(1)}"/>')
    parts += [_text(_place(tick) - 10, 138, f"{tick:.1f}") for tick in (0, 0.5, 1)]
    parts.append(_text(_place(0.5) - 50, 158, "grounding score"))
    return _svg(168, "Grounding scores of 20 right and 20 wrong answers", parts)


def _place(value: float) -> float:
    return 72 + value * 380


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}">{escape(words)}</text>'


def _svg(height: int, title: str, parts: list[str]) -> str:
    size = f'width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {size}>'
    style = f"<title>{title}</title><style>\n{_STYLE}\n</style>"
    return "\n".join([head, style, f'<rect class="paper" {size} rx="6"/>', *parts, "</svg>"]) + "\n"


def main(folder: Path) -> None:
    """Write both figures."""
    scores = grounding_scores()
    (folder / "intervals.svg").write_text(intervals_figure(scores), encoding="utf-8")
    (folder / "auroc.svg").write_text(auroc_figure(scores), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
