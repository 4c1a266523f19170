"""Packages that a program's requirements file names: installed once on this machine, beside those of its Python."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.user_cache import user_cache

_SHOWN_LINES = 12


def make_requirements_importable(requirements: str | None) -> None:
    """Install what a file asks for, `file#folder` from a folder of wheels, and let this process import it."""
    if requirements is None:
        return
    place = _installed(requirements)
    if place not in sys.path:
        sys.path.insert(0, place)


def _installed(requirements: str) -> str:
    """The folder that the packages are in; kept in the user's cache by what was asked for."""
    file, _, wheels = requirements.partition("#")
    target = user_cache() / "requirements" / _name(Path(file), wheels)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = tempfile.mkdtemp(prefix="draft-", dir=target.parent)
        try:
            _install(file, wheels, draft)
            _put(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return str(target)


def _name(file: Path, wheels: str) -> str:
    try:
        asked = [file.read_text(), sys.version, wheels]
        if wheels:
            found = sorted(Path(wheels).iterdir())
            asked += [f"{each.name} {each.stat().st_size} {each.stat().st_mtime_ns}" for each in found]
    except OSError as error:
        raise ConfigurationError(f"set_python_requirements: {error}.") from None
    return hashlib.sha256("\n".join(asked).encode()).hexdigest()[:20]


def _install(file: str, wheels: str, folder: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", file]
    if wheels:
        command += ["--no-index", "-f", wheels]
    done = subprocess.run([*command, "--target", folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = "\n".join(done.stderr.strip().splitlines()[-_SHOWN_LINES:])
        raise ConfigurationError(
            f"The packages of {file} could not be installed (pip ended with {done.returncode}):\n{said}"
        )


def _put(draft: str, target: Path) -> None:
    """Another program may have installed the same meanwhile."""
    try:
        os.rename(draft, target)
    except OSError:
        if not target.exists():
            raise
