"""The Java process behind a Spark session: whether it lives, how it ended, and how a program goes on without it.

PySpark keeps a dead gateway for ever: every call on it fails, and so does the attempt to make another session. Here is
what tells a dead Java process from other failures, and what lets the Python process have a new one.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.errors import SparkLostError

_DYING_SECONDS = 5.0
"""Between the end of the connections of a process and its own."""
_OUT_OF_MEMORY = 52
"""Exit code of a Spark that ran out of memory."""
_own: Any = None
_lost_of_user = ""


def forget_dead_java() -> None:
    """Have no active session whose Java process is gone, before a job looks for one.

    Raises SparkLostError if the session was one of the program's: another one of Penstock's making would not be what
    the program asked for.
    """
    global _lost_of_user
    context = SparkContext._active_spark_context
    how = None if context is None else java_end(context)
    if context is not None and how is not None:
        _forget(context, how)
    if SparkContext._active_spark_context is not None:
        _lost_of_user = ""
    elif _lost_of_user:
        way = ", or make a new session first, with SparkSession.builder.getOrCreate()" if _can_be_replaced() else ""
        raise SparkLostError(
            f"the Spark session of this program has ended: {_lost_of_user}. Start the program again{way}"
        )


def made_by_penstock(session: SparkSession) -> None:
    """Note that a session is one of Penstock's, which may be replaced."""
    global _own
    _own = session.sparkContext._gateway


def java_end(context: SparkContext, *, patience_seconds: float = 0.0) -> str | None:
    """How the Java process of a context ended, in words; None if it lives."""
    gateway: Any = context._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    # A process that is killed closes its sockets before its parent is told, on a busy machine long before.
    listens = _listens(gateway)
    if process is not None:
        with suppress(subprocess.TimeoutExpired):
            return f"Spark's Java process {exit_text(process.wait(patience_seconds if listens else _DYING_SECONDS))}"
    return None if listens else "Spark's Java process has ended"


def java_pid(context: SparkContext) -> int:
    """Number of the Java process: one that we started, or the one that started us, under spark-submit."""
    process: subprocess.Popen[bytes] | None = getattr(context._gateway, "proc", None)
    return os.getppid() if process is None else process.pid


def lost_spark(session: SparkSession, error: BaseException) -> SparkLostError | None:
    """What to say if an error came because the Java process or the session is gone; None if both are there."""
    context = session.sparkContext
    is_dying = isinstance(error, (Py4JNetworkError, ConnectionError, EOFError)) or _is_mute(error)
    how = java_end(context, patience_seconds=_DYING_SECONDS if is_dying else 0.0)
    if how is not None:
        _forget(context, how)
        return SparkLostError(
            f"{how} while the job ran. The job is resumed from its checkpoint when it is started again; if memory ran "
            "out, give Java more with spark.driver.memory"
        )
    if _is_stopped(context):
        return SparkLostError(
            "the Spark session was stopped while the job ran: end jobs with cancel() or stop() before spark.stop()"
        )
    return None


def exit_text(code: int) -> str:
    """How a process ended, by the code that its parent gets."""
    if code >= 0:
        why = ": its memory ran out" if code == _OUT_OF_MEMORY else ""
        return f"ended with exit code {code}{why}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    hint = ", as the system does when memory runs out" if -code == signal.SIGKILL else ""
    return f"was killed by signal {-code} ({name}{hint})"


def _forget(context: SparkContext, how: str) -> None:
    """Let PySpark start another Java process; objects of the dead one are of no use any more."""
    global _lost_of_user
    with suppress(Exception):  # whatever cannot be closed is gone with the process
        context._accumulatorServer.shutdown()
    gateway: Any = context._gateway
    with suppress(Exception):
        gateway.shutdown_callback_server()
    with SparkContext._lock:
        if SparkContext._gateway is gateway:  # not if somebody was quicker and has a new one
            _lost_of_user = "" if gateway is _own and _can_be_replaced() else how
            SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
            SparkSession._instantiatedSession = SparkSession._activeSession = None


def _is_mute(error: BaseException) -> bool:
    """Whether an error that is Java's cannot be asked for its text."""
    try:
        str(error)
    except Exception:
        return True
    return False


def _is_stopped(context: SparkContext) -> bool:
    java: Any = context._jsc
    with suppress(Exception):
        return java is None or bool(java.sc().isStopped())
    return False


def _listens(gateway: Any) -> bool:
    """Whether somebody is at the other end; for Java processes that started us, under spark-submit."""
    address = gateway.gateway_parameters.address, gateway.gateway_parameters.port
    try:
        socket.create_connection(address, timeout=_DYING_SECONDS).close()
    except ConnectionError:
        return False
    except OSError:
        return True  # a machine that is busy is no proof
    return True


def _can_be_replaced() -> bool:
    """Whether a new Java process can be started; under spark-submit it is the one that started Python."""
    return "PYSPARK_GATEWAY_PORT" not in os.environ
