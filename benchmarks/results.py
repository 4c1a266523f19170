"""The results files, benchmarks/results/*.json: what a measurement was made on, and how one is stored and read."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "results"
PACKAGES = ("penstock", "pyspark", "pyarrow")
"""Whose versions stand in every heading, beside Python's."""


def heading(*, parallelism: int, rounds: int, **versions: str) -> dict[str, Any]:
    """Machine, versions, commit and date; `versions` are those of others that took part."""
    own = {name: version(name) for name in PACKAGES}
    return {
        "machine": machine(),
        "versions": {"python": platform.python_version(), **own, **versions},
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "parallelism": parallelism,
        "rounds": rounds,
    }


def machine() -> dict[str, Any]:
    """What a reader has to know of the machine."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}, {platform.machine()}",
    }


def write(name: str, content: dict[str, Any], folder: Path = FOLDER) -> Path:
    """Store one file, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(content, indent=1) + "\n")
    unfinished.replace(path)
    return path


def read(name: str, folder: Path = FOLDER) -> dict[str, Any] | None:
    """One file, or None if nobody has measured that yet."""
    path = folder / f"{name}.json"
    content: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return content


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    """The commit that was measured, marked if files of it had been changed."""
    try:
        commit = _git("rev-parse", "--short=10", "HEAD")
        return f"{commit} with changes" if _git("status", "--porcelain", "--", "src", "benchmarks/*.py") else commit
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
