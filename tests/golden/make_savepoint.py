"""Stores a savepoint and a checkpoint under a number: `python -m tests.golden.make_savepoint 2`.

`savepoint-<n>` is a savepoint of the program in the middle of its input; `checkpoint-<n>` is the checkpoint directory
of the same moment, with the sink's output folder beside it; `expected-<n>.json` is what a job that goes on from either
publishes. A new number is for a new format, beside the old ones; a number is only made anew if nobody uses its format.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.golden import program

FOLDER = Path(__file__).parent
BATCHES = 3
RECORDS_OF_BATCH = 12
PARALLELISM = 2
PARALLELISM_AFTER = 3


@dataclass(frozen=True)
class Stored:
    """What is stored under a number."""

    number: int

    @property
    def savepoint(self) -> Path:
        return FOLDER / f"savepoint-{self.number}"

    @property
    def checkpoint(self) -> Path:
        return FOLDER / f"checkpoint-{self.number}"

    @property
    def expected(self) -> Path:
        return FOLDER / f"expected-{self.number}.json"


def all_stored() -> list[Stored]:
    """Oldest first."""
    return [Stored(number) for number in sorted(int(path.stem[9:]) for path in FOLDER.glob("expected-*.json"))]


def make(folder: Path) -> tuple[Path, Path]:
    """A savepoint, and the folder with the checkpoint directory and the output of the same moment."""
    at_moment = folder / "at-moment"
    client = program.started(
        at_moment / "out",
        parallelism=PARALLELISM,
        now_ms=program.MADE_AT_MS,
        batch=RECORDS_OF_BATCH,
        checkpoint=at_moment / "checkpoint",
    )
    for _ in range(BATCHES):
        assert client.run_batch()
    savepoint = client.stop_with_savepoint(False, str(folder)).result()
    return Path(savepoint), at_moment


def published_after(origin: Path, output: Path) -> list[str]:
    """What a job that goes on from somewhere publishes."""
    before = program.published(output)
    rest = program.COUNT
    program.started(
        output, parallelism=PARALLELISM_AFTER, now_ms=program.RESUMED_AT_MS, batch=rest, recovery=origin
    ).wait()
    after = program.published(output)
    for line in before:
        after.remove(line)
    return after


def main(number: int) -> None:
    """Store, or replace what is stored."""
    stored = Stored(number)
    with tempfile.TemporaryDirectory() as scratch:
        savepoint, at_moment = make(Path(scratch))
        for place, made in ((stored.savepoint, savepoint), (stored.checkpoint, at_moment)):
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(made, place)
        stored.expected.write_text(json.dumps(published_after(savepoint, Path(scratch, "again")), indent=0) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
