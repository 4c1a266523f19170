"""Wheels for tests that install packages without a network."""

from __future__ import annotations

import zipfile
from pathlib import Path


def make_wheel(folder: Path, version: str, text: str) -> None:
    """Write a wheel of `penstock-wheel`, whose only module `penstock_wheel` has that text."""
    folder.mkdir(exist_ok=True)
    about = f"penstock_wheel-{version}.dist-info"
    with zipfile.ZipFile(folder / f"penstock_wheel-{version}-py3-none-any.whl", "w") as made:
        made.writestr("penstock_wheel.py", text)
        made.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: penstock-wheel\nVersion: {version}\n")
        made.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{about}/RECORD", "")
