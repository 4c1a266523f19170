"""The main module of a driver that a dispatcher starts: `penstock run`, and a file with its exit code at the end.

It waits for its arguments on its input, and ends without having done anything if they do not come: the dispatcher
that started it does not lead any more, or is dead. A dispatcher that was started after the driver is not its parent and
could not learn the exit code otherwise. A driver that was killed leaves no file, and that tells its death from its end.
"""

from __future__ import annotations

import json
import os
import select
import sys

from penstock.server.dispatcher.processes import NOT_STARTED

_PATIENCE_SECONDS = 30.0
_INPUT = 0


NO_FILE = "-"
"""In place of the file: nobody looks after the program, as with `penstock run --detached`."""


def main(exit_file: str) -> None:
    """Run the command line with the arguments that come, and leave the exit code; the dispatcher may be gone then."""
    arguments = _received(_PATIENCE_SECONDS)
    if arguments is None:
        _leave(exit_file, NOT_STARTED)
        sys.exit("penstock: who started this driver does not lead any more, or has died; it ends")
    run(exit_file, arguments)


def _received(seconds: float) -> list[str] | None:
    """What the dispatcher wants to be run; None if it is gone, or paused so long that another has taken over."""
    content = b""
    while select.select([_INPUT], [], [], seconds)[0]:
        piece = os.read(_INPUT, 1 << 16)
        if not piece:
            break
        content += piece
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _INPUT)
    os.close(nothing)
    try:
        return list(json.loads(content))
    except ValueError:
        return None


def run(exit_file: str, arguments: list[str]) -> None:
    """Run the command line and leave its exit code."""
    from penstock.cli.commands import app

    code = 1
    try:
        app(arguments, prog_name="penstock")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        raise
    finally:
        _leave(exit_file, code)


def _leave(exit_file: str, code: int) -> None:
    if exit_file == NO_FILE:
        return
    temporary = f"{exit_file}.tmp"
    with open(temporary, "w") as stream:
        stream.write(str(code))
    os.replace(temporary, exit_file)


if __name__ == "__main__":
    main(*sys.argv[1:])
