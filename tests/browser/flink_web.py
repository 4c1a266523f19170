"""The static files of Flink's own web UI: fetched from the registry of Java packages, kept in the user's cache."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from penstock.server.flink.jobs import FLINK_VERSION
from penstock.user_cache import user_cache

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_PATIENCE_SECONDS = 280


def flink_pages() -> Path:
    """The folder of the files; fetches them once."""
    folder = user_cache() / f"flink-web-{FLINK_VERSION}"
    if not (folder / "web" / "index.html").exists():
        maven = shutil.which("mvn")
        if maven is None:
            pytest.skip("Flink's web UI cannot be fetched: install Maven (the command `mvn`)")
        _fetch(maven, folder)
    return folder / "web"


def _fetch(maven: str, folder: Path) -> None:
    draft = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    artifact = f"-Dartifact=org.apache.flink:flink-runtime-web:{FLINK_VERSION}"
    done = subprocess.run(
        [maven, "-q", "-B", _COPY, artifact, f"-DoutputDirectory={draft}"],
        cwd=draft, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    jars = list(draft.glob("*.jar"))
    assert done.returncode == 0 and jars, f"Flink's web UI could not be fetched: {(done.stdout + done.stderr)[:500]}"
    with zipfile.ZipFile(jars[0]) as jar:
        jar.extractall(draft, [name for name in jar.namelist() if name.startswith("web/")])
    jars[0].unlink()
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)
