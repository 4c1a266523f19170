"""Who owns a broker's folder: a lock that the broker's process inherits and keeps for as long as it lives.

A process number alone may belong to somebody else by now; the lock is the system's own word that the broker lives.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def claimed(path: Path) -> Iterator[int | None]:
    """Claim the lock for the block; gives the descriptor to be inherited, or None if somebody else has it.

    A process that inherited the descriptor keeps the lock after the block.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield descriptor if _locked(descriptor, fcntl.LOCK_EX) else None
    finally:
        os.close(descriptor)


def is_claimed(path: Path) -> bool:
    """Whether a living process has the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _locked(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
