"""Plays transcripts on Spark in continuous mode, as a program: its session is of another kind than that of the tests.

Prints a JSON object with what failed, by name.
"""

from __future__ import annotations

import json
import sys
import tempfile

from penstock.common import Configuration, RestartStrategies
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing.players import play_together
from penstock.testing.transcripts import Transcript
from tests.transcripts.every_case import ALL
from tests.transcripts.mutants import MUTANTS, mutated

BRANCHES = 40
"""Branches of one job: every task holds a subtask of each."""


def can_be_continuous(transcript: Transcript) -> bool:
    """Whether a transcript says nothing about the clock or about the batches that its steps are."""
    return not transcript.has_clock() and not transcript.stepwise_only


PLAYED = [transcript for transcript in ALL if can_be_continuous(transcript)]
_UNSEEN = {
    "ForgetsBetweenBatches",  # takes one record for a block, and here several steps may come in one
    "TwiceAfterRestore",  # shows only where a version begins between its records, which is a matter of time here
    "TimersOneLate",  # these are right in all but the step that something comes with
    "TimersOneEarly",
    "WatermarksOneAhead",
    "WindowsOneEarly",
}
BROKEN = [
    mutant
    for mutant in MUTANTS
    if not mutant.fades and mutant.__name__ not in _UNSEEN and can_be_continuous(mutated(mutant))
]


def main() -> None:
    """Play the transcripts, and those of broken operators."""
    settings = json.loads(sys.argv[1])
    failed: dict[str, str] = {}
    played = [*PLAYED, *(mutated(mutant) for mutant in BROKEN)]
    for first in range(0, len(played), BRANCHES):
        configuration = Configuration.from_dict({"penstock.execution.mode": "continuous", **settings})
        environment = StreamExecutionEnvironment.get_execution_environment(configuration)
        environment.set_parallelism(1)
        environment.set_restart_strategy(RestartStrategies.no_restart())
        with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
            environment.get_checkpoint_config().set_checkpoint_storage_dir(folder)
            found = play_together(environment, played[first : first + BRANCHES], folder, stepwise=False)
        failed |= {name: str(mismatch) for name, mismatch in found.items()}
    print(json.dumps(failed))


if __name__ == "__main__":
    main()
