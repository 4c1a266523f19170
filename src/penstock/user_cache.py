"""Where Penstock keeps on this machine what it can make or fetch again."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def user_cache() -> Path:
    """The folder that PENSTOCK_CACHE names, otherwise `penstock` in the user's cache directory; it need not exist."""
    if os.environ.get("PENSTOCK_CACHE"):
        return Path(os.environ["PENSTOCK_CACHE"]).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "penstock"


def write_program(path: Path, script: str) -> None:
    """Have a file that can be run; whoever runs it meanwhile finds the old or the new one, never half of it."""
    if path.exists() and path.read_text() == script:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(script)
    draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    draft.replace(path)
