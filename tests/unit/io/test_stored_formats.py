"""Files of the formats that docs/internals/versions.md promises to read, as an earlier version wrote them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sgi.engine.calibration_file import read_calibration
from sgi.llm.calls import Completion, Finish, UsageCounter
from sgi.llm.cassette import CassettePlayer, cassette_judge
from support.judge_server import call

FOLDER = Path(__file__).parents[2] / "data" / "formats"


def test_a_calibration_of_format_2():
    calibration = read_calibration(FOLDER / "calibration-2.json")
    assert (calibration.metric, calibration.rows, calibration.thresholds.threshold) == ("sgi", 240, 0.95)


def test_a_cassette_of_format_1():
    file = FOLDER / "cassette-1.jsonl"
    assert cassette_judge(file) == {"model": "openai:m"}
    reply = asyncio.run(CassettePlayer(file, UsageCounter()).complete(call("the question")))
    assert reply == Completion('{"a": "é\u2028\\n"}', Finish.LENGTH, "no", 3, 4, cached=True)
