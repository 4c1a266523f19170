"""The virtual environments of the systems that Penstock is compared with, one each, in `.bench`.

`PENSTOCK_BENCH_ENVIRONMENTS` names another folder, for environments that are there already.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "benchmarks" / "peers" / "requirements"
PACKAGES = {"penstock": "pyspark", "flink": "apache-flink", "spark": "pyspark", "bytewax": "bytewax"}
"""The package whose version stands for an environment."""


def folder() -> Path:
    """Where the environments are."""
    return Path(os.environ.get("PENSTOCK_BENCH_ENVIRONMENTS") or ROOT / ".bench" / "environments")


def python_of(environment: str) -> str:
    """The interpreter of an environment; Penstock's is the one that runs this."""
    return sys.executable if environment == "penstock" else str(folder() / environment / "bin" / "python")


def prepare(environment: str) -> None:
    """Make an environment, unless it is there with what its list asks for."""
    if environment == "penstock":
        return
    wanted = REQUIREMENTS / f"{environment}.txt"
    fingerprint = hashlib.sha256(wanted.read_bytes()).hexdigest()
    place = folder() / environment
    mark = place / ".installed"
    if mark.is_file() and mark.read_text() == fingerprint:
        return
    print(f"bench: making {place} (once, and again when {wanted.name} changes)", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    install = [python_of(environment), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--requirement", str(wanted)], check=True)
    mark.write_text(fingerprint)


def version(environment: str) -> str:
    """Version of the package that an environment stands for."""
    code = f"from importlib.metadata import version; print(version({PACKAGES[environment]!r}))"
    told = subprocess.run([python_of(environment), "-c", code], capture_output=True, text=True, check=True)
    return told.stdout.strip()
