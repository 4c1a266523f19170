"""What Spark starts instead of a Python process that a fork server has ready: asks for one, and waits for its end.

Run as `python -I -S fork_client.py PYTHON -m MODULE ...`. It takes 15 ms, so it imports next to nothing. Where the
server is not there, or has no process like that, it becomes the Python process that was wanted.
"""

from __future__ import annotations

import _socket
import os
import struct
import sys

VARIABLE = "PENSTOCK_FORK_SERVER"
"""Names the socket of the server."""
_STREAMS = (0, 1, 2)
NUMBER = struct.Struct("!q")
REFUSED = -1
"""What the server says instead of the number of a process."""


def ended_process(path: str, words: list[str]) -> int | None:
    """Have a process forked and wait for it; returns its exit code, or None if there is no such process."""
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        server.connect(path)
        # A process that is started has all variables, and its folder, from whoever starts it.
        variables = [b"%s=%s" % item for item in os.environb.items()]
        # None of them can have a zero byte in it.
        order = b"\0".join([b"%d" % len(words), *map(os.fsencode, words), os.getcwdb(), *variables])
        streams = struct.pack(f"{len(_STREAMS)}i", *_STREAMS)
        server.sendmsg([NUMBER.pack(len(order))], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
        server.sendall(order)
        is_forked = _number(server) not in (None, REFUSED)
    except OSError:
        return None
    # A server that is gone says nothing: the process itself goes on, and Java talks to it and not to this one.
    code = _number(server) if is_forked else None
    return 1 if is_forked and code is None else code


def _number(server: _socket.socket) -> int | None:
    """What the server says next; None if it has gone."""
    try:
        answer = server.recv(NUMBER.size, _socket.MSG_WAITALL)
    except OSError:
        return None
    return int(NUMBER.unpack(answer)[0]) if len(answer) == NUMBER.size else None


def main() -> None:
    """Be the process that was asked for, one way or the other."""
    python, *words = sys.argv[1:]
    code = ended_process(os.environ.get(VARIABLE, ""), words)
    if code is None:
        os.execv(python, [python, *words])
    os._exit(code)


if __name__ == "__main__":
    main()
