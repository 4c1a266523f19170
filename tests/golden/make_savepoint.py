"""Makes what is stored here anew: `python -m tests.golden.make_savepoint`. Only for a format that nobody uses yet.

`savepoint-2` is a savepoint of the program in the middle of its input; `checkpoint-2` is the checkpoint directory of
the same moment, with the sink's output folder beside it; `expected.json` is what a job that goes on from either
publishes. Those with the number 1 are of the format before, in which all state was pickled; they are never made anew.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from tests.golden import program

FOLDER = Path(__file__).parent
SAVEPOINT = FOLDER / "savepoint-2"
CHECKPOINT = FOLDER / "checkpoint-2"
OLD_SAVEPOINT = FOLDER / "savepoint-1"
OLD_CHECKPOINT = FOLDER / "checkpoint-1"
EXPECTED = FOLDER / "expected.json"
BATCHES = 3
RECORDS_OF_BATCH = 12
PARALLELISM = 2
PARALLELISM_AFTER = 3


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


def main() -> None:
    """Replace what is stored."""
    with tempfile.TemporaryDirectory() as scratch:
        savepoint, at_moment = make(Path(scratch))
        for stored, made in ((SAVEPOINT, savepoint), (CHECKPOINT, at_moment)):
            shutil.rmtree(stored, ignore_errors=True)
            shutil.copytree(made, stored)
        EXPECTED.write_text(json.dumps(published_after(savepoint, Path(scratch, "again")), indent=0) + "\n")


if __name__ == "__main__":
    main()
