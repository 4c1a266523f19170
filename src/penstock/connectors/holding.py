"""Whether the driver that a writer works for still holds the checkpoint directory, or another one has taken it over.

A driver, with its tasks, may be paused inside a batch for as long as it takes another one to finish the job. When it
goes on it knows nothing of that, and what it would write then is old. Sinks whose system has transactions ask within
one, see `penstock.connectors.jdbc.fencing`; the others ask before they send, with a `HoldWatch`.
"""

from __future__ import annotations

import time

from penstock.connectors.sink import Hold
from penstock.errors import SinkError
from penstock.storage.places import Storage

_ASKED_EVERY_SECONDS = 1.0
# Goes on while the machine sleeps, where there is such a clock.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def is_held(hold: Hold) -> bool:
    """Whether the directory is still that of the driver; also if nothing is known of one."""
    if not hold.file:
        return True
    folder, _, name = hold.file.rpartition("/")
    try:
        with Storage(folder).open_input(name) as stream:
            return bytes(stream.read()) == hold.driver.encode()
    except FileNotFoundError:  # the job that took over has ended, and its directory with it
        return False


def refuse_to_write(who: str) -> SinkError:
    """The error of a writer whose rows are not wanted any more."""
    return SinkError(
        f"{who} writes nothing more: another driver has taken over the checkpoint directory of this job since its "
        "batch began, and writes these records itself."
    )


class HoldWatch:
    """Asks before records are sent, at most once a second: a process that was paused for longer asks when it goes on.

    What is left: a pause that falls between the question and what is sent after it, and what the client of the
    system still has in its buffers.
    """

    def __init__(self, hold: Hold, who: str) -> None:
        self._hold = hold
        self._who = who
        self._asked = float("-inf")

    def check(self) -> None:
        """Raise SinkError if somebody else has taken over."""
        now = time.clock_gettime(_CLOCK)
        if now - self._asked >= _ASKED_EVERY_SECONDS:
            if not is_held(self._hold):
                raise refuse_to_write(self._who)
            self._asked = now
