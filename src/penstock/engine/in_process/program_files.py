"""Python files of a program in the process that runs it: what Spark would send to its workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from penstock.errors import ConfigurationError
from penstock.graph import JobSettings

_ONLY_ON_SPARK = {"spark.archives": "add_python_archive", "spark.files": "register_cached_file"}


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
    for key, method in _ONLY_ON_SPARK.items():
        if settings.spark_config.get(key):
            raise ConfigurationError(
                f"{method} needs Spark, which copies files to its workers: in process, open them by their own path."
            )
