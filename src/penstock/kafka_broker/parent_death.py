"""A child process that the system kills when the one that started it is gone, however that came.

Linux only: elsewhere the child stays, as any does. The system watches the thread that started the child.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def dying_with_this_process() -> Callable[[], None] | None:
    """What `subprocess.Popen` has to run in the child (`preexec_fn`)."""
    if sys.platform != "linux":
        return None
    starter = os.getpid()
    # Loaded here: between fork and exec as little as possible is done.
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != starter:  # it was gone before
            os._exit(1)

    return tie
