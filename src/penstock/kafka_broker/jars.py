"""The jars of the Kafka broker: fetched once into the user's cache, and known to be whole; runs nothing of them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from penstock.errors import BrokerError
from penstock.java import java_home
from penstock.user_cache import user_cache

KAFKA_VERSION = "4.3.1"
# The broker's own dependencies leave out what carries its log lines to log4j; without it there is no log.
_WANTED = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
)
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_MARKER = "complete.json"
_PATIENCE_SECONDS = 900


def has_broker_jars() -> bool:
    """Whether the jars are all there, so that nothing has to be fetched."""
    return _is_complete(_folder())


def broker_jars() -> Path:
    """The folder of the jars; fetches them if they are not all there, which other processes wait for."""
    folder = _folder()
    if not _is_complete(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.with_name(f"{folder.name}.lock")):
            if not _is_complete(folder):
                _fetch(folder)
    return folder


def _folder() -> Path:
    return user_cache() / f"kafka-{KAFKA_VERSION}"


def _is_complete(folder: Path) -> bool:
    """Whether the marker is there, and every jar that it names, in its size."""
    try:
        sizes: dict[str, int] = json.loads((folder / _MARKER).read_text())
        return bool(sizes) and all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(folder: Path) -> None:
    draft = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    (draft / "jars").mkdir(parents=True)
    command = _command(draft)
    try:
        done = subprocess.run(
            command,
            cwd=draft,
            env={**os.environ, "JAVA_HOME": str(java_home())},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BrokerError(
            f"{_could_not(command)}: it did not finish within {_PATIENCE_SECONDS} s; try again"
        ) from error
    jars = sorted((draft / "jars").glob("*.jar"))
    if done.returncode != 0 or not any(jar.name == f"kafka_2.13-{KAFKA_VERSION}.jar" for jar in jars):
        raise BrokerError(
            f"{_could_not(command)}: {_reason(done.stdout + done.stderr)}; check the network and try again"
        )
    (draft / "jars" / _MARKER).write_text(json.dumps({jar.name: jar.stat().st_size for jar in jars}))
    shutil.rmtree(folder, ignore_errors=True)
    (draft / "jars").replace(folder)
    shutil.rmtree(draft, ignore_errors=True)


def _could_not(command: list[str]) -> str:
    return f"could not download the jars of Kafka {KAFKA_VERSION} with {Path(command[0]).name}"


def _reason(output: str) -> str:
    """The first line that complains; build tools say the same several times, in ever longer words."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    complaints = [line for line in lines if any(word in line for word in ("ERROR", "FAILED", "not found"))]
    return (complaints or lines or ["it said nothing"])[0][:400]


def _command(draft: Path) -> list[str]:
    """Maven knows the machine's mirrors and proxies, so it comes first; Spark brings Ivy with it."""
    maven = shutil.which("mvn")
    if maven is not None:
        return _maven(maven, draft)
    ivy = _ivy_of_spark()
    if ivy is not None:
        return _ivy(ivy, draft)
    raise BrokerError(f"cannot download the jars of Kafka {KAFKA_VERSION}: install Maven (the command `mvn`)")


def _maven(maven: str, draft: Path) -> list[str]:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        for group, name, version in _WANTED
    )
    (draft / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>penstock</groupId><artifactId>broker</artifactId>"
        f"<version>1</version><packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
    )
    return [maven, "-q", "-B", _COPY, "-DincludeScope=runtime", f"-DoutputDirectory={draft / 'jars'}"]


def _ivy(ivy: Path, draft: Path) -> list[str]:
    dependencies = "".join(
        f'<dependency org="{group}" name="{name}" rev="{version}" conf="default->default"/>'
        for group, name, version in _WANTED
    )
    (draft / "ivy.xml").write_text(
        '<ivy-module version="2.0"><info organisation="penstock" module="broker"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )
    java = java_home() / "bin" / "java"
    places = [
        "-ivy",
        "ivy.xml",
        "-cache",
        str(draft / "cache"),
        "-retrieve",
        str(draft / "jars" / "[artifact]-[revision].[ext]"),
    ]
    return [str(java), "-jar", str(ivy), "-confs", "default", *places]


def _ivy_of_spark() -> Path | None:
    found = find_spec("pyspark")
    for place in (found.submodule_search_locations or []) if found is not None else []:
        for jar in sorted(Path(place).glob("jars/ivy-*.jar")):
            return jar
    return None
