"""Penstock as users get it: a wheel, installed with pip into an environment of its own, and used from elsewhere.

Owns environments and what programs in them find; what they compute is the business of the tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.spark.processes import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
_OUR_OWN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "JAVA_HOME", "MASTER", "KILL_TEST_GROUP")


@dataclass(frozen=True)
class Installed:
    """An environment that Penstock is installed in."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def run(self, arguments: list[str], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python, which is not activated, as if nothing else were known of Penstock.

        Into files: the JVM of a first program keeps a pipe open until it has put its classes away.
        """
        paths = [cwd / "stdout.txt", cwd / "stderr.txt"]
        with paths[0].open("w") as stdout, paths[1].open("w") as stderr:
            done = subprocess.run(
                [str(self.python), *arguments],
                cwd=cwd,
                env={**plain_variables(cwd), **variables},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
        return subprocess.CompletedProcess(done.args, done.returncode, *(path.read_text() for path in paths))


def plain_variables(scratch: Path) -> dict[str, str]:
    """Variables of a user who has set nothing; `python3` on the path is one that knows nothing of Penstock."""
    ours = (*_OUR_OWN, *(key for key in os.environ if key.startswith(("SPARK", "PYSPARK"))))
    kept = {key: value for key, value in os.environ.items() if key not in ours}
    programs = scratch / "programs"
    programs.mkdir(exist_ok=True)
    if not (programs / "python3").exists():
        (programs / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    return {**kept, "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin"}


def build_wheel(folder: Path) -> Path:
    """The wheel of this source."""
    _done([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)])
    (wheel,) = folder.glob("penstock-*.whl")
    return wheel


def new_environment(folder: Path, *, borrowing: bool) -> Path:
    """A new environment; `borrowing` finds the packages of the one that runs the tests, except Penstock."""
    _done([sys.executable, "-m", "venv", str(folder)])
    if borrowing:
        (site,) = (folder / "lib").glob("python*/site-packages")
        # Entries of a file are added to the path and not looked at for such files: an editable Penstock is not found.
        lenders = [entry for entry in sys.path if entry.endswith("site-packages")]
        (site / "borrowed.pth").write_text("\n".join(lenders) + "\n")
    return folder


def install(wheel: Path, folder: Path, *, borrowing: bool) -> Installed:
    """Install the wheel with pip, with all that it needs, or with what the other environment lends."""
    new_environment(folder, borrowing=borrowing)
    alone = ["--no-deps", "--no-index"] if borrowing else []
    _done([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *alone, str(wheel)])
    return Installed(folder)


def readme_program() -> str:
    """The first program of the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return found.group(1)


def _done(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
