"""Python environments for programs with requirements: one for each set of requirements, made once.

An environment sees what the dispatcher's own Python has, Penstock and Spark above all, behind what is installed in it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import sysconfig
import uuid
from pathlib import Path

from penstock.errors import ConfigurationError

_INSTALL_SECONDS = 900
_TOLD_LINES = 15


def python_for(requirements: list[str], folder: Path) -> str:
    """The interpreter for a program; that of the dispatcher if nothing is required. May take minutes."""
    if not requirements:
        return sys.executable
    text = "\n".join([sys.executable, sys.version, *requirements])
    place = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
    python = place / "bin" / "python"
    if not python.exists():
        # Elsewhere first, so that one that is half made is never used; whoever is second throws theirs away.
        draft = folder / f".{uuid.uuid4().hex[:8]}"
        try:
            _make(draft, requirements)
            draft.rename(place)
        except OSError:
            if not python.exists():
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return str(python)


def _make(place: Path, requirements: list[str]) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _run([sys.executable, "-m", "venv", str(place)], "made")
    packages = next(place.glob("lib/python*/site-packages"))
    own = sysconfig.get_path("purelib")
    (packages / "penstock_dispatcher.pth").write_text(f"import site; site.addsitedir({own!r})\n")
    command = [str(place / "bin" / "python"), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    _run([*command, "--", *requirements], "filled")


def _run(command: list[str], what: str) -> None:
    told = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
    )
    if told.returncode != 0:
        tail = "\n".join((told.stdout + told.stderr).strip().splitlines()[-_TOLD_LINES:])
        raise ConfigurationError(f"the environment of the program could not be {what}:\n{tail}")
