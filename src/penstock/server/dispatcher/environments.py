"""Python environments for programs with requirements: one for each set of requirements, made once.

An environment sees what the dispatcher's own Python has, Penstock and Spark above all, behind what is installed in it.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
import sys
import sysconfig
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.scratch import clear_scratch, held, make_scratch, remove_scratch

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
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        clear_drafts(folder)
        # Elsewhere first, so that one that is half made is never used; whoever is second throws theirs away.
        draft = Path(make_scratch("environment", str(folder)))
        try:
            _make(draft, requirements)
            draft.rename(place)
        except OSError:
            if not python.exists():
                raise
        finally:
            remove_scratch(str(draft))
    return str(python)


def clear_drafts(folder: Path) -> None:
    """Remove what dispatchers left half made when they were killed, unless pip still works on it."""
    clear_scratch(str(folder))


def _make(draft: Path, requirements: list[str]) -> None:
    python = str(draft / "bin" / "python")
    # A pip of its own would take longer to be installed than most requirements.
    has_pip = _can_install_elsewhere()
    venv = [sys.executable, "-m", "venv", *(["--without-pip"] if has_pip else []), str(draft)]
    _run(venv, draft, "the environment of the program could not be made")
    packages = next(draft.glob("lib/python*/site-packages"))
    own = sysconfig.get_path("purelib")
    (packages / "penstock_dispatcher.pth").write_text(f"import site; site.addsitedir({own!r})\n")
    pip = [sys.executable, "-m", "pip", "--python", python] if has_pip else [python, "-m", "pip"]
    command = [*pip, "install", "--no-input", "--disable-pip-version-check", "--", *requirements]
    _run(command, draft, "the requirements of the program could not be installed")


def _can_install_elsewhere() -> bool:
    """Whether the dispatcher has a pip, and one that can install for another Python."""
    try:
        major, minor = importlib.metadata.version("pip").split(".")[:2]
    except importlib.metadata.PackageNotFoundError:
        return False
    return (int(major), int(minor)) >= (22, 3)


def _run(command: list[str], draft: Path, what: str) -> None:
    """Run a command that works on a draft, and has it for its own should the dispatcher die before it."""
    try:
        told = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_INSTALL_SECONDS,
            check=False,
            pass_fds=held(str(draft)),
        )
    except subprocess.TimeoutExpired:
        raise ConfigurationError(
            f"{what} within {_INSTALL_SECONDS} seconds: submit it again, or require less"
        ) from None
    if told.returncode != 0:
        lines = (told.stdout + told.stderr).strip().splitlines()
        reasons = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
        tail = "\n".join(lines[-_TOLD_LINES:])
        raise ConfigurationError(f"{what}: {(reasons or lines or ['no reason'])[-1]}\n{tail}")
