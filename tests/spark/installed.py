"""Penstock as users get it: a wheel, installed with pip into an environment of its own, and used from elsewhere.

Used by the tests and by `scripts/wheel_check`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.spark.processes import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
VOLUMES = [("ACME", 59_999, 7), ("ACME", 119_999, 7), ("EMCA", 59_999, 1)]
"""What README's program finds."""
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
                timeout=2 * PATIENCE_SECONDS,
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
    # To install pip takes longer than all the rest; that of the other environment can install into this one.
    _done([sys.executable, "-m", "venv", *(["--without-pip"] if borrowing else []), str(folder)])
    if borrowing:
        (site,) = (folder / "lib").glob("python*/site-packages")
        # Entries of a file are added to the path and not looked at for such files: an editable Penstock is not found.
        lenders = [entry for entry in sys.path if entry.endswith("site-packages")]
        (site / "borrowed.pth").write_text("\n".join(lenders) + "\n")
    return folder


def extras() -> list[str]:
    """The extras that users may ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return sorted(set(project["optional-dependencies"]) - {"dev"})


def install(wheel: Path, folder: Path, *, borrowing: bool, extras: Sequence[str] = ()) -> Installed:
    """Install the wheel with pip, with all that it and the extras need, or with what the other environment lends."""
    new_environment(folder, borrowing=borrowing)
    wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    python = str(folder / "bin" / "python")
    if borrowing:
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index"]
    else:
        pip = [python, "-m", "pip", "install"]
    _done([*pip, "--quiet", wanted])
    return Installed(folder)


def readme_program() -> str:
    """The first program of the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return found.group(1)


def run_readme(installed: Installed, empty: Path) -> None:
    """Run README's program in an empty folder, and check all that it leaves and says."""
    program = empty / "volumes.py"
    program.write_text(readme_program())
    done = installed.run([program.name], empty)
    assert done.returncode == 0, done.stderr
    found = [(row["symbol"], row["minute_end"], row["volume"]) for row in rows_of(empty / "volumes")]
    assert sorted(found) == VOLUMES
    # Nothing but what the program asks for: no warning of Java's, no log of Spark's.
    assert (done.stderr, done.stdout) == ("", "")


def imported_from(installed: Installed, cwd: Path) -> Path:
    """The file that `import penstock` finds."""
    done = installed.run(["-c", "import penstock; print(penstock.__file__)"], cwd)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip()).resolve()


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of a file sink's JSON files."""
    files = [path for path in folder.rglob("*.json") if ".penstock-staging" not in path.parts]
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def _done(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
