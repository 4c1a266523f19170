"""What the user has told Spark already, outside of the program: on the line of spark-submit, by variables, in files.

What it is good for is decided where a session is made. Under spark-submit Spark has read it all. Otherwise it has not
been started yet, and has to be started with the right settings: so its rules are followed here.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home

_SEPARATOR = re.compile(r"(?<!\\)[\s=:]\s*")
_ESCAPED = re.compile(r"\\(.)")
_WITH_VALUE = {"--master", "--conf", "-c", "--properties-file"}


def is_submitted() -> bool:
    """Whether spark-submit has started this program, with a JVM that runs already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def told_to_spark() -> dict[str, str]:
    """Settings that are there whatever the program says; those of a line come before those of a file."""
    if is_submitted():
        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    told = {"spark.master": os.environ["MASTER"]} if os.environ.get("MASTER") else {}
    line = dict(_settings_of_line(os.environ.get("PYSPARK_SUBMIT_ARGS", "")))
    file = line.pop("--properties-file", None)
    return {**told, **settings_of_file(Path(file) if file else _defaults_file()), **line}


def _settings_of_line(line: str) -> Iterator[tuple[str, str]]:
    """Options of spark-submit that are settings; `--driver-memory` and the like stay with Spark."""
    words = iter(shlex.split(line))
    for word in words:
        option, has_value, value = word.partition("=")
        if option not in _WITH_VALUE:
            continue
        value = value if has_value else next(words, "")
        if option == "--master":
            yield "spark.master", value
        elif option == "--properties-file":
            yield option, value
        else:
            key, _, setting = value.partition("=")
            yield key.strip(), setting


def _defaults_file() -> Path:
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    return Path(folder) / "spark-defaults.conf"


def settings_of_file(path: Path) -> dict[str, str]:
    """Settings of a file of Java properties; one that is not there has none, as for Spark."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    # A backslash at the end joins lines.
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    found = (_SEPARATOR.split(line.strip(), maxsplit=1) for line in lines if line.strip()[:1] not in ("", "#", "!"))
    settings = {_ESCAPED.sub(r"\1", pair[0]): _ESCAPED.sub(r"\1", pair[-1]) for pair in found if len(pair) == 2}
    return {key: value.lstrip("=: \t").strip() for key, value in settings.items() if key.startswith("spark.")}
