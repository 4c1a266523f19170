"""Files and archives of a program on their way to Spark's workers, whoever started the session."""

from __future__ import annotations

import os

from pyspark import SparkContext

from penstock.graph import JobSettings

_ARCHIVES, _FILES = "spark.archives", "spark.files"


def archives_of(settings: JobSettings) -> list[str]:
    """The archives that a program wants in the working directory of its functions; `path#folder` names the folder."""
    return _paths(settings, _ARCHIVES)


def send_files(context: SparkContext, settings: JobSettings) -> None:
    """Have the workers get everything that a program needs; what Spark was started with is there already."""
    for path in settings.python_files:
        context.addPyFile(path)
    for path in _missing(_paths(settings, _FILES), context.listFiles):
        context.addFile(path)
    for path in _missing(archives_of(settings), context.listArchives):
        context.addArchive(path)


def _paths(settings: JobSettings, key: str) -> list[str]:
    return [path for path in settings.spark_config.get(key, "").split(",") if path]


def _missing(wanted: list[str], there: list[str]) -> list[str]:
    # Spark lists local ones as URIs of their full paths.
    known = {uri.removeprefix("file:").replace("///", "/") for uri in there}
    return [path for path in wanted if path not in known and os.path.abspath(path) not in known]
