"""Has Spark's small Python processes forked from one that has done their imports, instead of starting each of them.

Called before a session is made, so that the imports are done while Java starts. The script that Spark takes for Python
(`worker_python`) finds the server by a variable, which Java and its processes inherit.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys

from penstock.engine.spark.startup.fork_client import VARIABLE
from penstock.engine.spark.startup.unix_sockets import fits
from penstock.scratch import make_scratch, remove_scratch

_SERVER = "penstock.engine.spark.startup.fork_server"
_SOCKET = "fork"
_LIKE_SPARKS = {"PYTHONUNBUFFERED": "YES"}
"""What Spark adds to the variables of its processes, and Python looks at only when it starts."""
_END_SECONDS = 5.0

_running: subprocess.Popen[bytes] | None = None


def start_fork_server(parent: str) -> None:
    """Have a server; one that runs already is used again, and where a path would be too long there is none.

    `parent`: the folder for temporary files.
    """
    global _running
    if _running is not None and _running.poll() is None:
        return
    os.environ.pop(VARIABLE, None)
    if sys.platform != "linux" or not fits(parent):
        return
    folder = make_scratch("f", parent)
    path = os.path.join(folder, _SOCKET)
    seed = os.environ.get("PYTHONHASHSEED", "0")  # as PySpark has it for its workers
    # numpy would have threads of its own, which a process that is forked lacks. Spark allows its workers one too.
    variables = {**os.environ, **_LIKE_SPARKS, "PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", _SERVER, path]
    _running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=variables)
    os.environ[VARIABLE] = path
    atexit.register(_end, _running, folder)


def forget_other_server() -> None:
    """A program that another one has started has inherited its variable."""
    if _running is None:
        os.environ.pop(VARIABLE, None)


def _end(process: subprocess.Popen[bytes], folder: str) -> None:
    """The server ends with its input; Java, which is ended after this, hangs up on the processes it has forked."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    remove_scratch(folder)
