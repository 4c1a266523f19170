"""The files of a path, folder or glob, by Spark's rules."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyarrow import fs as arrow_fs

from penstock.errors import SourceError
from penstock.storage.places import Storage

_GLOB = re.compile(r"[*?\[{]")


@dataclass(frozen=True)
class ListedFile:
    """A file that is there: its path on its file system, its size, and when it was last written."""

    path: str
    size: int
    modified_ns: int


@dataclass(frozen=True)
class FileListing:
    """Paths, folders and globs, and which of the files below them are taken."""

    paths: tuple[str, ...]
    name_pattern: str | None = None
    recursive: bool = True
    needs_paths: bool = True

    def files(self) -> list[ListedFile]:
        """The files that are there now, oldest first; hidden ones (`_` or `.` in front) are left out."""
        found: dict[str, ListedFile] = {}
        for path in self.paths:
            for file in self._below(path):
                name = os.path.basename(file.path)
                if self.name_pattern is None or any(
                    fnmatch.fnmatchcase(name, each) for each in _braces(self.name_pattern)
                ):
                    found.setdefault(file.path, file)
        return sorted(found.values(), key=lambda file: (file.modified_ns, file.path))

    def _below(self, path: str) -> Iterator[ListedFile]:
        storage = Storage(path)
        files = storage.file_system
        info = files.get_file_info(storage.base or "/")
        if info.type == arrow_fs.FileType.NotFound and _GLOB.search(storage.base):
            yield from self._matching(storage)
        elif info.type == arrow_fs.FileType.NotFound:
            if self.needs_paths:
                raise SourceError(f"The file source cannot read {path}: there is no such file or directory.")
        elif info.type == arrow_fs.FileType.File:
            yield _listed(info)
        else:
            yield from self._inside(files, storage.base, self.recursive)

    def _matching(self, storage: Storage) -> Iterator[ListedFile]:
        """Files, or files of folders, that match a glob, level by level."""
        parts = storage.base.split("/")
        fixed = next(place for place, part in enumerate(parts) if _GLOB.search(part))
        folders = ["/".join(parts[:fixed]) or "/"]
        infos: list[arrow_fs.FileInfo] = []
        for part in parts[fixed:]:
            infos = [
                info
                for folder in folders
                for info in storage.file_system.get_file_info(arrow_fs.FileSelector(folder, allow_not_found=True))
                if any(fnmatch.fnmatchcase(info.base_name, each) for each in _braces(part))
            ]
            folders = [info.path for info in infos if info.type == arrow_fs.FileType.Directory]
        for info in infos:
            if info.type == arrow_fs.FileType.File:
                if not _is_hidden(info.base_name):
                    yield _listed(info)
            else:
                yield from self._inside(storage.file_system, info.path, self.recursive)

    def _inside(self, files: arrow_fs.FileSystem, folder: str, recursive: bool) -> Iterator[ListedFile]:
        for info in files.get_file_info(arrow_fs.FileSelector(folder, allow_not_found=True)):
            if _is_hidden(info.base_name):
                continue
            if info.type == arrow_fs.FileType.File:
                yield _listed(info)
            elif info.type == arrow_fs.FileType.Directory and recursive:
                yield from self._inside(files, info.path, recursive)
            elif info.type == arrow_fs.FileType.Directory and "=" in info.base_name:
                raise SourceError(
                    f"The folder {info.path} is a partition column, which only Spark reads: run the job on Spark, "
                    "or use recursive=True, which takes its files without the column."
                )


def _listed(info: arrow_fs.FileInfo) -> ListedFile:
    return ListedFile(info.path, info.size or 0, info.mtime_ns or 0)


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", ".")) and "=" not in name


def _braces(pattern: str) -> list[str]:
    """A pattern for each choice: Python's own patterns know no braces.

    >>> _braces("{a,b}.c?v")
    ['a.c?v', 'b.c?v']
    """
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [re.sub(r"\\(.)", r"[\1]", pattern).replace("[^", "[!")]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [each for choice in found[1].split(",") for each in _braces(before + choice + after)]
