"""Kafka Streams itself, as an oracle: its jars from the Java registry, and `Runner.java` on its test driver.

Nothing of it is kept in the repository; `python -m tests.conformance.kstreams --measure` needs a JDK and Maven.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from penstock.java import java_home
from penstock.user_cache import user_cache

VERSION = "4.3.1"
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_ARTIFACTS = ("kafka-streams", "kafka-streams-test-utils")
_SOURCE = Path(__file__).with_name("Runner.java")
_PATIENCE_SECONDS = 600


class OracleMissing(Exception):
    """Kafka Streams cannot be run here; the text says why."""


def jars() -> Path:
    """The folder of the jars; fetched once into the user's cache."""
    folder = user_cache() / f"kafka-streams-{VERSION}"
    if not (folder / "complete").exists():
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise OracleMissing("the jars of Kafka Streams are fetched with Maven, and there is no `mvn` here")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = "".join(
        f"<dependency><groupId>org.apache.kafka</groupId><artifactId>{name}</artifactId><version>{VERSION}</version>"
        "</dependency>"
        for name in _ARTIFACTS
    )
    project = "<groupId>oracle</groupId><artifactId>oracle</artifactId><version>1</version>"
    head = f"<project><modelVersion>4.0.0</modelVersion>{project}"
    (folder / "pom.xml").write_text(f"{head}<dependencies>{wanted}</dependencies></project>")
    command = [maven, "-q", "-B", _COPY, f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise OracleMissing(f"Maven did not fetch Kafka Streams within {_PATIENCE_SECONDS} s") from error
    if done.returncode != 0:
        raise OracleMissing(f"Maven could not fetch Kafka Streams {VERSION}: {(done.stdout + done.stderr)[:300]}")
    (folder / "complete").touch()


def compiled(folder: Path, source: Path = _SOURCE) -> str:
    """Compile a program against the jars; the class path to run it with."""
    classes = f"{jars()}/*"
    beside = Path(java_home()) / "bin" / "javac"
    compiler = str(beside) if beside.exists() else shutil.which("javac")
    if compiler is None:
        raise OracleMissing(f"there is no Java compiler at {beside} or in the path")
    command = [compiler, "-nowarn", "-Xlint:none", "-cp", classes, "-d", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OracleMissing(f"{source.name} does not compile: {done.stderr[:500]}")
    return f"{folder}{os.pathsep}{classes}"


def play(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What Kafka Streams makes of cases, in one process."""
    # RocksDB syncs its files: in memory that costs nothing.
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="kstreams-oracle-", dir=shared) as folder:
        java = str(Path(java_home()) / "bin" / "java")
        command = [java, "-XX:TieredStopAtLevel=1", "-cp", compiled(Path(folder)), "Runner", folder]
        lines = "\n".join(json.dumps(case) for case in cases)
        done = subprocess.run(
            command, input=lines, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False
        )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(cases):
        raise AssertionError(f"Kafka Streams gave {len(answers)} answers to {len(cases)} cases: {done.stderr[-500:]}")
    return answers
