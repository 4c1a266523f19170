"""Reading what a run of an example left behind: JSON lines, in one file or in the parts that a job wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> list[Any]:
    """All rows of a file, or of a folder of part files. Their order is that of the files, so sort what you compare."""
    files = sorted(path.rglob("part-*")) if path.is_dir() else [path]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]
