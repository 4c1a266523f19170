"""The commands of the README of an example, run on a copy of its folder: so no README can go out of date."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[1]
PATIENCE_SECONDS = 270
BLOCK = re.compile(r"^```sh(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(readme: str, mark: str = "") -> list[str]:
    """The lines of all `sh` blocks of a README that bear this mark; those without a mark run anywhere in seconds."""
    blocks = [block[2] for block in BLOCK.finditer(readme) if (block[1] or "") == mark]
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith("#")]


def readme_of(name: str) -> str:
    return (EXAMPLES / name / "README.md").read_text()


@dataclass(frozen=True)
class ExampleRun:
    """A copy of an example, whose README's commands were run."""

    name: str
    copy: Path
    printed: str

    @property
    def input(self) -> Path:
        return self.copy / "run" / "input"

    @property
    def output(self) -> Path:
        return self.copy / "run" / "output"

    def has_the_committed_picture(self) -> bool:
        """Whether this run has drawn the picture that is in the repository."""
        return (self.copy / "result.svg").read_text() == (EXAMPLES / self.name / "result.svg").read_text()


def run_commands(name: str, root: Path, lines: list[str]) -> ExampleRun:
    """Copy the example below `root` and run the lines there, each as a shell would."""
    copy = root / "examples" / name
    shutil.copytree(EXAMPLES / name, copy, ignore=shutil.ignore_patterns("run", "__pycache__", "result.svg"))
    shutil.copytree(EXAMPLES / "gallery", root / "examples" / "gallery")
    shutil.copy(EXAMPLES / "draw.py", root / "examples")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path}
    printed = [run_line(line, root, environment) for line in lines]
    return ExampleRun(name, copy, "".join(printed))


def run_line(line: str, root: Path, environment: dict[str, str]) -> str:
    """Run one line as a shell would and return what it prints; if it hangs, it goes with all it has started."""
    shell = subprocess.Popen(
        line,
        shell=True,
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate(timeout=PATIENCE_SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, f"{line}\n{printed}"
    return printed
