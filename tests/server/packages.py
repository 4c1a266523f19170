"""Packages that tests build in a moment, and variables by which pip finds them and nothing else."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

# Builds itself without any other package, when it is let.
_WAITING_BACKEND = """
import os, pathlib, time, uuid, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    place = pathlib.Path({place!r})
    (place / f"building-{{uuid.uuid4().hex}}").touch()
    while not (place / "go").exists():
        time.sleep(0.05)
    name = "{name}-1.0-py3-none-any.whl"
    (pathlib.Path(directory) / name).write_bytes(pathlib.Path({wheel!r}).read_bytes())
    return name
"""


def wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str],
    requires: Sequence[str] = (),
    *,
    is_whole: bool = True,
) -> Path:
    """Write a wheel of pure Python into a folder; one that is not whole has no list of its files."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if is_whole:
        content[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in [*content, f"{info}/RECORD"])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in content.items():
            archive.writestr(each, text)
    return path


def waiting_package(folder: Path, name: str, place: Path) -> None:
    """A package whose installation leaves a file in a place, and goes on when there is a file `go`."""
    built = wheel(place, name, "1.0", {f"{name}.py": ""})
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": _WAITING_BACKEND.format(place=str(place), name=name, wheel=str(built)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / f"{name}-1.0.tar.gz", "w:gz") as archive:
        for each, text in files.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{each}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


def only_from(folder: Path) -> dict[str, str]:
    """Variables for pip, as a company without an internet would set them; no file of this machine's counts."""
    return {"PIP_NO_INDEX": "1", f"PIP_FIND_{'LINKS'}": str(folder), "PIP_CONFIG_FILE": os.devnull}
