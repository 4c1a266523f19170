"""Checks of the code and files that a program sends to its workers."""

from __future__ import annotations

import os
import warnings

from penstock.datastream.arguments import non_empty_text
from penstock.errors import ConfigurationError

__all__ = ["existing_path", "warn_of_java"]


def existing_path(method: str, path: str) -> str:
    """Return the path; a local one must exist now, because the workers' complaint would come late and be obscure."""
    non_empty_text(method, path)
    if "://" not in path and not os.path.exists(path):
        raise ConfigurationError(f"{method}: there is no file or folder {path!r}.")
    return path


def warn_of_java(method: str) -> None:
    """Say that jars and class paths have no effect."""
    warnings.warn(
        f"{method} has no effect: Penstock runs no Java operators; for jars that Spark needs (sources, sinks) set the "
        "configuration key spark.jars or spark.jars.packages.",
        stacklevel=3,
    )
