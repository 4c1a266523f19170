"""Processes that are known by their number only."""

from __future__ import annotations

import os


def process_exists(pid: int) -> bool:
    """Return whether there is a process of that number on this machine; it may be another one by now."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
