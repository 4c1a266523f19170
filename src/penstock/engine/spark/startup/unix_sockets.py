"""Unix sockets between Java and Python, in a folder that nobody else can enter.

A small batch is mostly Java and Python waiting for each other, and each round trip is quicker than through TCP. Spark
asks for no password on a Unix socket, so the folder has to keep others out.
"""

from __future__ import annotations

import atexit
import sys
import tempfile
from collections.abc import Mapping

from penstock.scratch import make_scratch, remove_scratch

ENABLED = "spark.python.unix.domain.socket.enabled"
FOLDER = "spark.python.unix.domain.socket.dir"
_PURPOSE = "s"
_NAME_LENGTH = len("/.00000000-0000-0000-0000-000000000000.sock")
_LONGEST_PATH = 103
"""Of a socket, in bytes: 107 on Linux, 103 on macOS."""
_FOLDER_LENGTH = len("/penstock-scratch-s-12345678")


def unix_socket_settings(known: Mapping[str, str]) -> dict[str, str]:
    """Settings of a new session on this machine. None where the user has chosen, or the path would be too long."""
    if ENABLED in known or sys.platform == "win32" or not fits(tempfile.gettempdir()):
        return {}
    return {ENABLED: "true", FOLDER: known.get(FOLDER) or _own_folder()}


def _own_folder() -> str:
    folder = make_scratch(_PURPOSE)
    # Spark's daemon leaves its socket when it is killed, as it is at the end of every program.
    atexit.register(remove_scratch, folder)
    return folder


def fits(parent: str) -> bool:
    """Whether sockets in a folder below this one have a path that the system takes."""
    return len(parent.encode()) + _FOLDER_LENGTH + _NAME_LENGTH <= _LONGEST_PATH
