"""Full disks: told from other failures, and told with the path, the space that is left, and what to do."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import StorageFullError

__all__ = ["full_disk", "is_full_disk", "space_text", "told_if_full"]

_CODES = {errno.ENOSPC, errno.EDQUOT}
_TEXTS = ("No space left on device", "Disk quota exceeded")
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@contextmanager
def told_if_full(path: str) -> Iterator[None]:
    """Raise StorageFullError with a path where writing to it fails for want of space; other errors pass."""
    try:
        yield
    except Exception as error:
        if isinstance(error, StorageFullError) or not is_full_disk(error):
            raise
        raise full_disk(path) from error


def is_full_disk(error: BaseException) -> bool:
    """Whether an error says that there is no space; libraries and Java say it in their texts only."""
    return getattr(error, "errno", None) in _CODES or any(text in str(error) for text in _TEXTS)


def full_disk(path: str) -> StorageFullError:
    """What to say about a path that could not be written."""
    return StorageFullError(
        f"no space is left to write {path} ({space_text(path)}). Free some space or choose a larger disk, then start "
        "the job again: it resumes from its last checkpoint and ignores unfinished files"
    )


def space_text(path: str) -> str:
    """How much space there is on the disk of a path, which need not exist; a quota may leave less."""
    place = path.removeprefix("file://").removeprefix("file:")
    while not os.path.exists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    try:
        usage = shutil.disk_usage(place or ".")
    except OSError:
        return "the free space is unknown"
    return f"{_size(usage.free)} of {_size(usage.total)} are free"


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1024:
            return f"{count:,.0f} {unit}"
        count /= 1024
    return f"{count:,.1f} {_UNITS[-1]}"
