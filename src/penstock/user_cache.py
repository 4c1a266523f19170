"""Where Penstock keeps on this machine what it can make or fetch again; owns the place and none of its contents."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """The folder that PENSTOCK_CACHE names, otherwise `penstock` in the user's cache directory; it need not exist."""
    if os.environ.get("PENSTOCK_CACHE"):
        return Path(os.environ["PENSTOCK_CACHE"]).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "penstock"
