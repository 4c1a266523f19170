"""Memory of worker processes: what a block of columns leaves is used for the next one.

glibc gives arrays of more than 128 kB back to the system as soon as they are free, and the system clears the pages that
it gives out again. A block of 50,000 rows has dozens of such arrays: that was a third of what calculations cost.
"""

from __future__ import annotations

import ctypes
import os

__all__ = ["keep_freed_memory"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_LARGEST_ARRAY = 32 << 20  # more is not allowed
_MOST_KEPT = 128 << 20
_OWN_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Let this process keep some freed memory; returns whether it does. Who has set malloc up knows better."""
    if any(name in os.environ for name in _OWN_SETTINGS):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGEST_ARRAY)) and bool(mallopt(_M_TRIM_THRESHOLD, _MOST_KEPT))
