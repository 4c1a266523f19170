"""Flink's own command, from the apache-flink package: found where the benchmarks have it, or fetched for a minute."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peer_environments import folder

VERSION = "2.3.0"
_FETCH_SECONDS = 60


def find_flink() -> Path:
    """The command; skips the test, with the reason, where it cannot be had. `PENSTOCK_FLINK` names another place."""
    given = os.environ.get("PENSTOCK_FLINK")
    places = [Path(given)] if given else [found for name in ("flink", "flink-cli") for found in _in(folder() / name)]
    for place in places:
        if place.is_file():
            return place
    return _fetched(folder() / "flink-cli")


def _in(environment: Path) -> list[Path]:
    return list(environment.glob("lib/python*/site-packages/pyflink/bin/flink"))


def _fetched(environment: Path) -> Path:
    """The client alone: without the packages that programs of PyFlink need."""
    packages = [f"apache-flink=={VERSION}", f"apache-flink-libraries=={VERSION}"]
    try:
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True, timeout=_FETCH_SECONDS)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", *packages]
        subprocess.run(pip, check=True, timeout=_FETCH_SECONDS, capture_output=True)
    except (subprocess.SubprocessError, OSError) as error:
        reason = f"Flink's command could not be fetched within {_FETCH_SECONDS} s: {type(error).__name__}"
        if os.environ.get("PENSTOCK_REQUIRE_FLINK") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return _in(environment)[0]
