"""Where files live: one way to name, list, move and remove them on any file system pyarrow reaches.

What the files mean is decided by the sink.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from pyarrow import fs as arrow_fs

from penstock.errors import ConfigurationError
from penstock.storage.durable_files import sync_local

_SEGMENT_MAX = 100
_REMEMBERED_FOLDERS_MAX = 10_000  # a sink may have a folder for each of a million keys


class Storage:
    """A base directory on a file system; paths given and returned are relative to it."""

    def __init__(self, location: str | os.PathLike[str]) -> None:
        """Take a local path or a URI such as s3://bucket/folder."""
        text = os.fspath(location)
        if not text:
            raise ConfigurationError("The path of a file sink must not be empty.")
        self.location = absolute(text)
        self.file_system, self.base = _resolved(self.location)
        self._synced_folders: set[str] = set()

    def open_output(self, path: str) -> Any:
        """Open a new file for writing, making its folder first."""
        full = self.full(path)
        self.file_system.create_dir(os.path.dirname(full), recursive=True)
        return self.file_system.open_output_stream(full)

    def open_private_output(self, path: str) -> Any:
        """Open a new file that, on a local disk, only its user can read."""
        if not isinstance(self.file_system, arrow_fs.LocalFileSystem):
            return self.open_output(path)
        os.makedirs(os.path.dirname(self.full(path)), exist_ok=True)
        return open(self.full(path), "wb", opener=lambda name, flags: os.open(name, flags, 0o600))

    def open_input(self, path: str) -> Any:
        """Open a file for reading at any position."""
        return self.file_system.open_input_file(self.full(path))

    @property
    def is_local(self) -> bool:
        """Whether the files are on this machine's file system, or look like it."""
        return isinstance(self.file_system, arrow_fs.LocalFileSystem)

    def sync(self, *paths: str) -> None:
        """Have files and their names on the disk: a power cut must not take what others rely on."""
        if self.is_local and paths:
            sync_local([*map(self.full, paths), *self._folders_of(paths)])

    def sync_names(self, *paths: str) -> None:
        """The same for the names only, of files that were synced under another."""
        if self.is_local and paths:
            sync_local(self._folders_of(paths))

    def _folders_of(self, paths: Iterable[str]) -> set[str]:
        """The folders with the names of files, and those above them up to the base, where one may be new."""
        folders = {os.path.dirname(path) for path in paths}
        if len(self._synced_folders) > _REMEMBERED_FOLDERS_MAX:
            self._synced_folders.clear()
        for folder in list(folders):
            while folder and folder not in self._synced_folders:
                self._synced_folders.add(folder)
                folder = os.path.dirname(folder)
                folders.add(folder)
        return set(map(self.full, folders))

    def size_of(self, path: str) -> int | None:
        """The size of a file; None if there is none of that name."""
        info = self.file_system.get_file_info(self.full(path))
        return int(info.size) if info.type == arrow_fs.FileType.File else None

    def exists(self, path: str) -> bool:
        """Whether there is a file of that name."""
        return bool(self.file_system.get_file_info(self.full(path)).type == arrow_fs.FileType.File)

    def has_folder(self, path: str) -> bool:
        """Whether there is a folder of that name; stores without folders of their own have those with files."""
        return bool(self.file_system.get_file_info(self.full(path)).type == arrow_fs.FileType.Directory)

    def move(self, source: str, target: str) -> None:
        """Rename a file into a folder that may not exist yet."""
        full = self.full(target)
        self.file_system.create_dir(os.path.dirname(full), recursive=True)
        self.file_system.move(self.full(source), full)

    def remove(self, path: str) -> None:
        """Delete a file; one that is gone already is fine."""
        with contextlib.suppress(FileNotFoundError):
            self.file_system.delete_file(self.full(path))

    def names(self, directory: str) -> Iterator[str]:
        """Names of the files directly in a folder; none if it does not exist."""
        selector = arrow_fs.FileSelector(self.full(directory), allow_not_found=True)
        for info in self.file_system.get_file_info(selector):
            if info.type == arrow_fs.FileType.File:
                yield info.base_name

    def remove_directory(self, directory: str) -> None:
        """Delete a folder with all it holds, and the folders above it (below the base) that this leaves empty."""
        with contextlib.suppress(FileNotFoundError):
            self.file_system.delete_dir(self.full(directory))
        # Only the local file system has folders that outlive their files, and only os.rmdir can promise to
        # remove a folder no other job has just put a file in.
        while self.is_local and (directory := os.path.dirname(directory)):
            try:
                os.rmdir(self.full(directory))
            except FileNotFoundError:
                continue
            except OSError:
                return

    def full(self, path: str) -> str:
        """Return the file system's own path of a relative one."""
        return f"{self.base}/{path}" if path else self.base


def path_segment(text: str) -> str:
    """Turn any text into one folder name that no other text gives."""
    quoted = quote(text, safe="").replace(".", "%2E")
    if len(quoted) <= _SEGMENT_MAX:
        return quoted
    return f"{quoted[: _SEGMENT_MAX - 33]}~{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def absolute(location: str) -> str:
    """The location as every process understands it: workers have a working directory of their own."""
    return location if "://" in location or location.startswith("file:") else os.path.abspath(location)


def _resolved(location: str) -> tuple[arrow_fs.FileSystem, str]:
    if location.startswith("file:/"):
        return arrow_fs.LocalFileSystem(), "/" + location.removeprefix("file:").lstrip("/").rstrip("/")
    if "://" not in location:
        return arrow_fs.LocalFileSystem(), os.path.abspath(location).rstrip("/")
    try:
        file_system, base = arrow_fs.FileSystem.from_uri(location)
    except (ValueError, OSError) as failure:
        raise ConfigurationError(f"No file system for {location!r}: {failure}.") from failure
    return file_system, base.rstrip("/")
