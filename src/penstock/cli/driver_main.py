"""The main module of a driver that a dispatcher starts: `penstock run`, and a file with its exit code at the end.

A dispatcher that was started after the driver is not its parent and could not learn the code otherwise. A driver that
was killed leaves no file, and that tells its death from its end.
"""

from __future__ import annotations

import os
import sys


def main(exit_file: str, *arguments: str) -> None:
    """Run the command line with arguments and leave the exit code; the dispatcher may be gone by then."""
    from penstock.cli.commands import app

    code = 1
    try:
        app(list(arguments), prog_name="penstock")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        raise
    finally:
        temporary = f"{exit_file}.tmp"
        with open(temporary, "w") as stream:
            stream.write(str(code))
        os.replace(temporary, exit_file)


if __name__ == "__main__":
    main(*sys.argv[1:])
