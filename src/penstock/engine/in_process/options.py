"""`InProcessOptions`, how a job is run whose batches are run one by one."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.engine.in_process.chances import Chances, make_chances
from penstock.engine.in_process.clock import ManualClock
from penstock.errors import ConfigurationError
from penstock.state.backends import BACKENDS

_STATE = ("memory", *BACKENDS)


@dataclass(frozen=True)
class InProcessOptions:
    """How a job is run in process.

    `seed`: None reads everything at once and takes rows in the order Spark does; a number makes the choices random.
    `crash_rate`: how likely each step of a batch is to be the last of its process; as often a single task dies and is
    run again. `crash_at`: the numbers of the steps (counted over the whole run, from 1) at which the process dies.
    `state`: "memory" reads the checkpoint's files for every batch; "heap", "lmdb" and "rocksdb" are the local stores
    that Spark's workers have.
    """

    seed: int | None = None
    crash_rate: float = 0.0
    crash_at: tuple[int, ...] = ()
    clock: ManualClock | None = None
    state: str = "memory"

    def __post_init__(self) -> None:
        if not 0 <= self.crash_rate < 1:
            raise ConfigurationError(f"crash_rate must be at least 0 and below 1, got {self.crash_rate!r}")
        if self.crash_rate and self.seed is None:
            raise ConfigurationError("crash_rate needs a seed: in_process(seed=1, crash_rate=...)")
        if any(step < 1 for step in self.crash_at):
            raise ConfigurationError(f"crash_at: steps are counted from 1, got {list(self.crash_at)}")
        if self.state not in _STATE:
            raise ConfigurationError(f"state must be one of {', '.join(_STATE)}, got {self.state!r}")

    def chances(self) -> Chances:
        """What decides, for one job, what a cluster leaves to chance."""
        return make_chances(self.seed, self.crash_rate, self.crash_at)
