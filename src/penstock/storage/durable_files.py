"""Files and folders brought to the disk, so that a power cut cannot take what others rely on.

Only the local file system has to be asked for it: other stores keep what they have taken.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable

# A file of its own costs some milliseconds, the whole file system about ten times that.
_SINGLY_MAX = 8


def sync_local(paths: Iterable[str]) -> None:
    """Have local files, or folders with the names in them, on the disk."""
    wanted = sorted(set(paths))
    if len(wanted) > _SINGLY_MAX and _synced_at_once(wanted):
        return
    for path in wanted:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _synced_at_once(paths: list[str]) -> bool:
    """Bring the file systems of all paths to the disk; False where that cannot be asked for, or failed."""
    if sys.platform != "linux":
        return False
    by_device = {os.stat(path).st_dev: path for path in paths}
    library = ctypes.CDLL(None, use_errno=True)
    for path in by_device.values():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            if library.syncfs(descriptor) != 0:
                return False  # file by file tells which, and why
        finally:
            os.close(descriptor)
    return True
