"""What a worker says of its Python; sent by value to one that may not be able to import any of Penstock."""

from __future__ import annotations


def look(needed: tuple[str, ...]) -> tuple[str, str, str, list[str]]:
    """Executable, version, machine, and which of the packages cannot be found."""
    import importlib.util
    import platform
    import sys

    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    return sys.executable, platform.python_version(), platform.node(), missing
