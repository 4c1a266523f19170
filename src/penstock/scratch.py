"""Folders for what a process needs while it lives: nobody else can look into them, and none outlives it for long.

A process number in a file may be another's by now.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.errors import ConfigurationError

# Not the names of earlier versions, whose folders have no lock and may be in use.
_PREFIX = "penstock-scratch-"
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)

_held: dict[str, int] = {}


def make_scratch(purpose: str, parent: str | None = None) -> str:
    """A new folder that is this process's until it is removed or the process ends."""
    while True:
        path = tempfile.mkdtemp(prefix=f"{_PREFIX}{purpose}-", dir=parent)
        if hold(path):
            return path


def remove_scratch(path: str) -> None:
    """Remove a folder and let go of it; what cannot be removed is left to a later start."""
    shutil.rmtree(path, ignore_errors=True)
    release(path)


def hold(path: str) -> bool:
    """Say that this process needs a folder, which others may need too; False if it has just been cleared away."""
    if path in _held:
        return True
    try:
        descriptor = os.open(path, _FOLDER)
    except FileNotFoundError:
        return False
    with suppress(OSError):  # a file system without locks: nobody else gets one either, so it is not cleared
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # waits for somebody who clears, so it is looked at after that
    if not _is_at(path, descriptor):
        os.close(descriptor)
        return False
    _held[path] = descriptor
    return True


def held(path: str) -> tuple[int, ...]:
    """What a process that is started has to inherit so that it needs a folder of this one too; nothing otherwise."""
    return (_held[path],) if path in _held else ()


def release(path: str) -> None:
    """Say that this process needs a folder no longer."""
    descriptor = _held.pop(path, None)
    if descriptor is not None:
        os.close(descriptor)


def clear_scratch(parent: str | None = None) -> None:
    """Remove what processes of this user have left that are dead."""
    clear_abandoned(parent or tempfile.gettempdir(), _PREFIX)


def clear_abandoned(parent: str, prefix: str = "") -> None:
    """Remove the folders of this user that nobody holds; links, and what belongs to others, are not touched."""
    try:
        names = [name for name in os.listdir(parent) if name.startswith(prefix)]
    except OSError:
        return
    for name in names:
        path = os.path.join(parent, name)
        if path not in _held:
            with suppress(OSError), _claimed(path) as is_claimed:
                if is_claimed:
                    shutil.rmtree(path, ignore_errors=True)  # follows no links


@contextmanager
def _claimed(path: str) -> Iterator[bool]:
    """Whether the folder is this user's and nobody needs it; nobody can begin to while the block lasts."""
    descriptor = os.open(path, _FOLDER)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            yield False
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield _is_at(path, descriptor)
    finally:
        os.close(descriptor)


def make_own(path: str) -> str:
    """Have a folder of this user's; refuses one that is another's, or a link.

    Nobody else can look into a new one. One that is there keeps its rights: others may have a use for it, as for /tmp.
    """
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        found = os.lstat(path)
    except OSError as error:
        # A file where a folder above should be is told as one that "exists".
        reason = "Not a directory" if isinstance(error, FileExistsError) else error.strerror
        raise ConfigurationError(f"folder {path} cannot be used: {reason}; choose another") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ConfigurationError(
            f"{path} is a link or a file, or belongs to another user: choose another folder, or remove it"
        )
    return path


def make_private(path: str) -> str:
    """Have a folder of this user's that nobody else can look into, whatever it was before."""
    if stat.S_IMODE(os.lstat(make_own(path)).st_mode) & 0o077:
        os.chmod(path, 0o700)
    return path


def open_private(path: str | Path, flags: int) -> int:
    """As `opener` of `open`: a new file that only its user can read."""
    return os.open(path, flags, 0o600)


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
