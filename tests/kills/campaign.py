"""Kill commands and servers of SGI at random moments: ``python tests/kills/campaign.py --attempts 5``.

After each kill, an attempt checks that the database is sound, that nothing acknowledged is lost or doubled,
and that the documented way to continue gives the same result as an undisturbed run. The moments have a seed,
so that an attempt can be repeated (``--kind NAME --only NUMBER --seed SEED``).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kills.trial import Kind, Trial

HERE = Path(__file__).parent


@dataclass
class Tally:
    """The counts of a kind."""

    name: str
    attempts: int = 0
    kills: int = 0
    faults: int = 0
    fell: int = 0
    seconds: float = 0.0
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally | Trial) -> None:
        """Add the counts of an attempt, or of another kind."""
        self.kills, self.faults = self.kills + other.kills, self.faults + other.faults
        self.notes += other.notes

    def line(self) -> str:
        """Return a row of a Markdown table."""
        held = self.attempts - self.fell
        counts = (self.attempts, self.kills, self.faults, held, self.fell, round(self.seconds))
        notes = ", ".join(f"{count:,} {what}" for what, count in self.notes.items())
        return f"| {self.name} | {' | '.join(map(str, counts))} | {notes} |"


def all_kinds() -> dict[str, Kind]:
    """Return every kind by its name."""
    from kills import file_kinds, postgres_kinds, run_kinds, server_kinds, store_kinds

    modules = (run_kinds, postgres_kinds, server_kinds, store_kinds, file_kinds)
    return {kind.name: kind for module in modules for kind in module.kinds()}


def run_kind(kind: Kind, numbers: Iterable[int], seed: int, keep: Path | None) -> Tally:
    """Make the attempts of a kind; folders of attempts that fell are kept."""
    from kills.trial import Trial

    tally, begin = Tally(kind.name), time.monotonic()
    base = Path(mkdtemp(prefix="kills-", dir=keep))

    def trial_of(name: object) -> Trial:
        (base / str(name)).mkdir()
        return Trial(base / str(name), Random(f"{kind.name} {seed} {name}"))

    with closing(kind):
        with closing(trial_of("whole")) as trial:
            kind.prepare(trial)
        for number in numbers:
            with closing(trial_of(number)) as trial:
                tally.attempts += 1
                try:
                    kind.attempt(trial)
                except Exception:  # noqa: BLE001 - whatever is unexpected is what is looked for
                    tally.fell += 1
                    reason = traceback.format_exc(limit=-3)[-1500:]
                    print(
                        f"{kind.name}: attempt {number} of seed {seed} fell ({trial.folder}):\n{reason}",
                        flush=True,
                    )
                else:
                    rmtree(trial.folder)
            tally.add(trial)
    if not tally.fell:
        rmtree(base)
    tally.seconds = time.monotonic() - begin
    return tally


def main() -> int:
    """Run the campaign; the exit code is 1 if an attempt fell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=5, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", help="only kinds with this in their name; repeatable")
    parser.add_argument("--only", type=int, help="only the attempt with this number")
    parser.add_argument("--keep", type=Path, help="where folders of attempts that fell stay; default: TMPDIR")
    asked = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))
    os.environ["HF_HUB_OFFLINE"] = "1"
    found = [kind for name, kind in all_kinds().items() if any(part in name for part in asked.kind or [""])]
    numbers = range(asked.attempts) if asked.only is None else [asked.only]
    names = ("kind", "attempts", "SIGKILLs", "other faults", "held", "fell", "seconds", "notes")
    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|")
    total = Tally("all")
    for kind in found:
        tally = run_kind(kind, numbers, asked.seed, asked.keep)
        print(tally.line(), flush=True)
        total.add(tally)
        total.attempts, total.fell = total.attempts + tally.attempts, total.fell + tally.fell
        total.seconds += tally.seconds
    print(total.line())
    return min(total.fell, 1)


if __name__ == "__main__":
    sys.exit(main())
