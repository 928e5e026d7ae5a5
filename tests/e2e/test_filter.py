"""`sgi score` among other filters."""

import json
import subprocess
import sys
from threading import Thread

import pytest

COMMAND = [sys.executable, "-m", "sgi", "score", "-m", "squad_token_f1"]


def test_a_reader_that_has_had_enough_ends_it_quietly():
    rows = b'{"response": "x y", "reference": "x"}\n' * 20_000
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as one:

        def feed():
            try:
                one.stdin.write(rows)
                one.stdin.close()
            except BrokenPipeError:
                pass  # it has left already

        feeder = Thread(target=feed)
        feeder.start()
        first = one.stdout.readline()
        one.stdout.close()
        feeder.join()
        said = one.stderr.read()
        code = one.wait()
    assert json.loads(first)["scores"]["squad_token_f1"]["value"] > 0
    assert (code, said.decode()) == (0, "Columns: response, reference.\n")


@pytest.mark.slow
def test_rows_flow_through_before_the_input_ends():
    with subprocess.Popen(
        [*COMMAND, "--batch-size", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        for answer, value in (("x", 1.0), ("y", 0.0)):
            one.stdin.write(json.dumps({"response": answer, "reference": "x."}).encode() + b"\n")
            one.stdin.flush()
            assert json.loads(one.stdout.readline())["scores"]["squad_token_f1"]["value"] == value
        one.stdin.close()
        assert one.wait() == 0
