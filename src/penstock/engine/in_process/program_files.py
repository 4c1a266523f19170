"""Python files and archives of a program in the process that runs it: what Spark would send to its workers."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from penstock.errors import ConfigurationError
from penstock.graph import JobSettings

_ARCHIVES, _FILES = "spark.archives", "spark.files"
_KNOWN = tuple(ending for _, endings, _ in shutil.get_unpack_formats() for ending in endings)


def make_importable(paths: Iterable[str]) -> None:
    """Let this process import what workers of Spark would: .py files, zips, and folders of packages."""
    for path in paths:
        full = os.path.abspath(path.removeprefix("file://"))
        is_module = full.endswith(".py")
        is_package = os.path.isfile(os.path.join(full, "__init__.py"))
        folder = os.path.dirname(full) if is_module or is_package else full
        for place in {folder, full} if is_package else {folder}:
            if place not in sys.path:
                sys.path.insert(0, place)


def refuse_shipped_files(settings: JobSettings) -> None:
    """Files that Spark copies to its workers have no place to go to here."""
    if settings.spark_config.get(_FILES):
        raise ConfigurationError(
            "register_cached_file needs Spark, which copies files to its workers: in process, open files by their own "
            "path."
        )


def unpacked_archives(settings: JobSettings, folder: str) -> str | None:
    """Unpack the archives of a program below a folder; where functions are to run then, None if it has none.

    `path#name` is unpacked into the folder `name`, a path alone into one that is called like the archive.
    """
    archives = [each for each in settings.spark_config.get(_ARCHIVES, "").split(",") if each]
    place = os.path.join(folder, "archives")
    for archive in archives:
        path, _, name = archive.partition("#")
        _unpack(
            path.removeprefix("file://"), os.path.join(place, _folder_name(archive, name or os.path.basename(path)))
        )
    return place if archives else None


def _folder_name(archive: str, name: str) -> str:
    if os.path.isabs(name) or ".." in name.split(os.sep):
        raise ConfigurationError(f"add_python_archive: {name!r} of {archive!r} is not a folder name.")
    return name


def _unpack(path: str, target: str) -> None:
    try:
        shutil.unpack_archive(path, target, None if path.endswith(_KNOWN) else "zip")
    except (shutil.ReadError, ValueError, OSError) as error:
        raise ConfigurationError(f"add_python_archive: {path} cannot be unpacked: {error}") from None


@contextmanager
def working_directory(folder: str | None) -> Iterator[None]:
    """Run in a folder: as in PyFlink, functions open files of an archive by a relative path."""
    if folder is None:
        yield
        return
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
