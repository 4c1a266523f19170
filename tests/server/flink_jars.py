"""Jars of Flink that its clients need, fetched with Maven into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from penstock.server.flink.jobs import FLINK_VERSION
from penstock.user_cache import user_cache

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_PATIENCE_SECONDS = 280


def flink_jar(name: str) -> Path:
    """A jar of Flink's version."""
    return jar(f"org.apache.flink:{name}:{FLINK_VERSION}")


def jar(artifact: str) -> Path:
    """The jar of `group:name:version`; skips the test, with the reason, where it cannot be had."""
    _, name, version = artifact.split(":")
    place = user_cache() / "flink-client-jars" / f"{name}-{version}.jar"
    if not place.exists():
        _fetch(artifact, place)
    return place


def _fetch(artifact: str, place: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        _give_up(f"{artifact} is fetched with Maven, and there is no `mvn` here")
    draft = place.with_name(f"{place.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    command = [str(maven), "-q", "-B", _COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={draft}"]
    try:
        subprocess.run(
            command, cwd=draft, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_SECONDS, check=True
        )
    except subprocess.SubprocessError as error:
        _give_up(f"Maven could not fetch {artifact}: {type(error).__name__}")
    (draft / place.name).rename(place)
    shutil.rmtree(draft)


def _give_up(reason: str) -> None:
    if os.environ.get("PENSTOCK_REQUIRE_FLINK") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
