"""Cards of the jobs that run on this machine: a folder of the user's with a small file for each running job.

A card names the way into a job; the way itself is `penstock.job.socket`.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.process_ids import process_exists
from penstock.user_cache import user_cache

HOME = "PENSTOCK_HOME"
"""Variable that names another folder for what Penstock keeps for a user on a machine."""

_FORMAT = 2  # 1 had requests that carried the token itself
_WHAT_TO_DO = f"set {HOME} to a folder that you own"
_SUFFIX = ".json"


@dataclass(frozen=True)
class JobCard:
    """What a running job tells about itself; `file` is new for each start, whereas a job keeps its id."""

    job_id: str
    name: str
    pid: int
    checkpoint: str
    started_ms: int
    address: str
    token: str = field(repr=False)
    host: str = field(default_factory=socket.gethostname)
    file: str = ""

    @property
    def is_here(self) -> bool:
        """Whether the job runs on this machine; the folder may be on a disk that several share."""
        return self.host == socket.gethostname()

    def has_process(self) -> bool:
        """Whether there is a process of that number; it may be another one by now."""
        return process_exists(self.pid)


class CardFolder:
    """The folder with the cards of a user's jobs; nobody else may look into it."""

    def __init__(self, path: Path) -> None:
        """Take a folder that `of_this_user` or a test chose; it is made when it is needed."""
        self.path = path

    @classmethod
    def of_this_user(cls) -> CardFolder:
        """The folder that all processes of the user find, whatever session they belong to."""
        return cls(user_folder() / "jobs")

    def open(self) -> None:
        """Make the folder, or see that it is the user's alone."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.path.mkdir(mode=0o700)
        descriptor = self._opened()
        if descriptor is not None:
            os.close(descriptor)

    def new_name(self, job_id: str) -> str:
        """A name for the files of one start of a job; short, for that of a Unix socket may not be long."""
        return f"{job_id[:8]}-{uuid.uuid4().hex[:8]}"

    def put(self, card: JobCard) -> None:
        """Write a card, whole or not at all."""
        content = {key: value for key, value in asdict(card).items() if key != "file"}
        temporary = self.path / f".{card.file}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            json.dump({"format": _FORMAT, **content}, stream)
        temporary.replace(self._path_of(card.file))

    def cards(self) -> list[JobCard]:
        """The cards of this machine's jobs, the oldest first; those of dead processes are among them."""
        return sorted(self._read(), key=lambda card: (card.started_ms, card.file))

    def remove(self, card: JobCard) -> None:
        """Take a card away, and the socket that it may have left; one that is gone is fine."""
        self._path_of(card.file).unlink(missing_ok=True)
        (self.path / f"{card.file}.sock").unlink(missing_ok=True)

    def sweep(self) -> None:
        """Take away what killed processes left."""
        for card in self._read():
            if not card.has_process():
                self.remove(card)

    def _path_of(self, file: str) -> Path:
        return self.path / f"{file}{_SUFFIX}"

    def _read(self) -> Iterator[JobCard]:
        folder = self._opened()
        if folder is None:
            return
        try:
            for name in os.listdir(folder):
                card = self._card(folder, name) if name.endswith(_SUFFIX) else None
                if card is not None and card.is_here:
                    yield card
        finally:
            os.close(folder)

    def _card(self, folder: int, name: str) -> JobCard | None:
        """What a file says; a card leads to a job that is told what to do, so none is taken from anybody else."""
        try:
            with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)) as stream:
                if not _is_own_file(os.fstat(stream.fileno())):
                    return None
                content = json.load(stream)
            if content.pop("format") != _FORMAT:
                return None  # of another version of Penstock, which knows what to do with it
            return JobCard(**content, file=name.removesuffix(_SUFFIX))
        except OSError:  # gone, or a link
            return None
        except (ValueError, KeyError, TypeError, AttributeError):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)  # cards appear whole, so this is none
            return None

    def _opened(self) -> int | None:
        """The folder, for as long as it is read: a path may lead elsewhere a moment later. None if there is none."""
        try:
            above = os.stat(self.path.parent)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigurationError(
                f"{self._refused} is a link or not a folder ({error.strerror}): {_WHAT_TO_DO}"
            ) from None
        found = os.fstat(descriptor)
        if above.st_uid not in (os.geteuid(), 0) or found.st_uid != os.geteuid():
            os.close(descriptor)
            raise ConfigurationError(f"{self._refused} belongs to another user: {_WHAT_TO_DO}")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(descriptor, 0o700)
        return descriptor

    @property
    def _refused(self) -> str:
        return f"{self.path}, where the running jobs of a user are noted,"


def _is_own_file(found: os.stat_result) -> bool:
    """Whether it is a file of the user's that nobody else can write to."""
    mode = found.st_mode
    return stat.S_ISREG(mode) and found.st_uid == os.geteuid() and not stat.S_IMODE(mode) & 0o022


def user_folder() -> Path:
    """Where Penstock keeps what belongs to a user on this machine.

    Not XDG_RUNTIME_DIR: it goes when the user logs out, which a job may survive, and a job that cron started would look
    elsewhere.
    """
    given = os.environ.get(HOME)
    if given:
        return Path(given).absolute()
    cache = user_cache()
    if _can_be_made(cache):
        return cache
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"penstock-{owner}"


def _can_be_made(path: Path) -> bool:
    """Whether there can be folders in one; users of services often have a home that is not there."""
    while not path.exists():
        path = path.parent
    return path.is_dir() and os.access(path, os.W_OK | os.X_OK)
