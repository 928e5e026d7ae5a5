"""Fuzz every loader: ``python tests/fuzz/campaign.py --seconds 3600``.

Mutates valid inputs and the corpus with a seed, so that a campaign can be repeated. With atheris installed,
``--coverage`` lets it guide the mutations of one target instead. Inputs that end in a traceback are saved.
"""

import argparse
import faulthandler
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
_SECONDS_AN_INPUT = 60
_OUR_CODE = f"{os.sep}sgi{os.sep}"


class Hang(BaseException):
    """An input takes too long."""


def corpus(name: str) -> list[bytes]:
    """The minimal inputs that once ended in a traceback of a target."""
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]


def inputs(name: str, seed: int) -> Iterator[bytes]:
    """The seeds of a target, its corpus, and then mutations of both without end."""
    from fuzz.mutation import mutated
    from fuzz.targets import TARGETS

    seeds = [*TARGETS[name].seeds(), *corpus(name)] or [b""]
    rng = Random(f"{name} {seed}")
    yield from seeds
    while True:
        yield mutated(rng, seeds)


def place_of(error: BaseException) -> str:
    """The kind of an error, and the last line of ours that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _OUR_CODE in frame.filename]
    last = frames[-1] if frames else None
    where = f"{Path(last.filename).name}:{last.lineno}" if last else "?"
    return f"{type(error).__name__} at {where}"


def run_target(name: str, count: int, seed: int, until: float, keep: Path) -> tuple[int, dict[str, int]]:
    """Give a target so many inputs; how many it got, and the tracebacks by their place."""
    from fuzz.targets import TARGETS

    target, falls, number = TARGETS[name], {}, 0
    for number, data in enumerate(inputs(name, seed), 1):
        signal.alarm(_SECONDS_AN_INPUT)
        try:
            target(data)
        except (Exception, Hang) as error:  # noqa: BLE001 - whatever is unexpected is what is looked for
            place = place_of(error)
            falls[place] = falls.get(place, 0) + 1
            if falls[place] == 1:
                keep.mkdir(parents=True, exist_ok=True)
                file = keep / f"{name}-{place.replace(' ', '-').replace(':', '-')}"
                file.write_bytes(data)
                print(f"{name}: {place}: {str(error)[:200]!r}; saved as {file}", flush=True)
        finally:
            signal.alarm(0)
        if number >= count or time.monotonic() > until:
            break
    return number, falls


def with_coverage(name: str, seconds: int) -> None:
    """Let atheris guide the mutations of one target; it ends at the first traceback."""
    import atheris

    from fuzz.targets import TARGETS

    with atheris.instrument_imports(include=["sgi"]):
        TARGETS[name](TARGETS[name].seeds()[0])  # imports what the target needs
    folder = Path(f"/tmp/sgi-fuzz-{name}")
    folder.mkdir(exist_ok=True)
    for number, data in enumerate([*TARGETS[name].seeds(), *corpus(name)]):
        (folder / f"seed-{number}").write_bytes(data)
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", str(folder)], TARGETS[name])
    atheris.Fuzz()


def main() -> int:
    """Run the campaign; the exit code is 1 if anything ended in a traceback."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--count", type=int, default=10**12, help="inputs in all, shared out by weight")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target", action="append", help="only these; may be given several times")
    parser.add_argument("--keep", type=Path, default=Path("/tmp/sgi-fuzz"), help="where failing inputs go")
    parser.add_argument("--coverage", action="store_true", help="use atheris, for one --target")
    asked = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))
    from fuzz.registry import remove_files
    from fuzz.targets import TARGETS

    faulthandler.enable()
    signal.signal(signal.SIGALRM, _hang)
    names = asked.target or list(TARGETS)
    if asked.coverage:
        with_coverage(names[0], asked.seconds)
    weight = sum(TARGETS[name].weight for name in names)
    end, total, falls, begin = time.monotonic() + asked.seconds, 0, 0, time.monotonic()
    for place, name in enumerate(names):
        left = sum(TARGETS[other].weight for other in names[place:])
        until = time.monotonic() + (end - time.monotonic()) * max(TARGETS[name].weight / left, 1 / 60)
        before = time.monotonic()
        count = max(asked.count * TARGETS[name].weight // weight, 1)
        number, found = run_target(name, count, asked.seed, min(until, end), asked.keep)
        rate = number / max(time.monotonic() - before, 1e-9)
        total, falls = total + number, falls + sum(found.values())
        print(f"{name}: {number:,} inputs, {rate:,.0f}/s, {sum(found.values()):,} tracebacks", flush=True)
    print(f"seed {asked.seed}: {total:,} inputs in {time.monotonic() - begin:,.0f} s, {falls:,} tracebacks")
    remove_files()
    return int(falls > 0)


def _hang(*_: object) -> None:
    raise Hang


if __name__ == "__main__":
    sys.exit(main())
