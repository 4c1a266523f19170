"""The pattern jobs in Flink's own CEP library on the JVM: compiles `flink_cep/PatternJob.java` and runs it.

The libraries are those that PyFlink brings. No Python touches a record.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.cep_patterns import pattern_of
from benchmarks.peers.reporting import Task, end_with_the_parent

SOURCE = Path(__file__).parent / "flink_cep" / "PatternJob.java"
OPENED = ("java.util", "java.lang", "java.lang.reflect", "java.io", "java.nio", "java.util.concurrent")
"""Packages that Flink's serializers and closures look into."""


def libraries() -> str:
    """The jars that come with PyFlink, as a class path."""
    found = importlib.util.find_spec("pyflink")
    assert found is not None and found.origin is not None
    return os.pathsep.join(map(str, sorted((Path(found.origin).parent / "lib").glob("*.jar"))))


def program(name: str) -> str:
    """A program of the JDK that the runner has chosen."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / name) if home else name


def compiled(folder: Path) -> Path:
    """The classes of the job."""
    subprocess.run([program("javac"), "-nowarn", "-d", str(folder), "-cp", libraries(), str(SOURCE)], check=True)
    return folder


def arguments(task: Task) -> list[str]:
    """What the job is told."""
    pattern = pattern_of(task.job)
    assert pattern is not None, f"{task.job} looks for no pattern"
    numbers = [",".join(map(str, task.sizes)), task.keys, task.rate, task.parallelism]
    told = [task.report, *numbers, pattern.as_text(), pattern.within_s, str(task.collect).lower()]
    return list(map(str, told))


def main(words: list[str]) -> int:
    """Compile and run in one JVM with all numbers of records, so that it is warm from the second one on."""
    end_with_the_parent()
    task = Task(**json.loads(words[0]))
    classes = compiled(Path(os.environ.get("TMPDIR", ".")).resolve() / "classes")
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    command = [program("java"), *opened, "-cp", os.pathsep.join([str(classes), libraries()]), "PatternJob"]
    return subprocess.run([*command, *arguments(task)], stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
