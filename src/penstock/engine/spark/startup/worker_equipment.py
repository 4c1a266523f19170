"""Whether the Python processes of a session can run Penstock: it sees to what it can, and says what else is to be set.

A session that Penstock made itself on this machine needs none of it.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
import sysconfig
import zipfile
from collections.abc import MutableMapping
from pathlib import Path

from pyspark import SparkContext, cloudpickle
from pyspark.sql import SparkSession

import penstock
from penstock.engine.spark.spark_names import described
from penstock.engine.spark.startup import worker_probe
from penstock.engine.spark.startup.session_config import is_here
from penstock.engine.spark.startup.worker_python import worker_python
from penstock.errors import ConfigurationError
from penstock.scratch import make_scratch, remove_scratch

NEEDED = ("penstock", "cloudpickle", "lmdb", "msgpack", "numpy", "pandas", "pyarrow", "sortedcontainers")
"""What tasks import; Penstock itself is sent along."""
_PACKAGE = Path(penstock.__file__).resolve().parent
_UNSAID = "python3"
"""What PySpark takes where nobody has said which Python."""
_MOST_LOOKS = 16
_equipped: set[str] = set()


def equip_workers(session: SparkSession, *, fast_start: bool = True) -> None:
    """Let workers find Penstock; raises ConfigurationError with what to set if they cannot run it."""
    context = session.sparkContext
    if context.applicationId in _equipped:
        return
    if not is_here(context.master or ""):
        _send_penstock(context)
        _look_at_workers(session)
    elif not _uses_this_python(context, fast_start=fast_start):
        _look_at_workers(session)
    _equipped.add(context.applicationId)


def _send_penstock(context: SparkContext) -> None:
    archive = _package_archive()
    context.addPyFile(archive)
    # Beside the driver, Spark runs readers of sources in the workers' Python, without what is sent to executors. There
    # the path leads to the archive; on other machines it leads nowhere.
    known = context.environment.get("PYTHONPATH", "")
    context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [known, archive]))


def need_no_equipment(session: SparkSession) -> None:
    """Say that a session was made so that its workers can run Penstock.

    What is set later is another set of variables for Spark, which then starts other workers for them.
    """
    _equipped.add(session.sparkContext.applicationId)


def let_workers_find_penstock(variables: MutableMapping[str, str]) -> None:
    """A Penstock that runs from a source folder on `sys.path` is not on that of the Python processes Spark starts."""
    folder = str(_PACKAGE.parent)
    known = variables.get("PYTHONPATH", "")
    inherited = os.environ.get("PYTHONPATH", "")
    if folder not in (sysconfig.get_path("purelib"), *known.split(os.pathsep), *inherited.split(os.pathsep)):
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [known, folder]))


def _uses_this_python(context: SparkContext, *, fast_start: bool = True) -> bool:
    """See to it that workers are of this Python, unless the user has chosen another.

    Spark would start the first Python of the path, which is not this one where no environment is activated. PySpark
    sends the name with every function, so it can be changed while a session runs.
    """
    if context.pythonExec == _UNSAID and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = worker_python(is_local=fast_start)
    elif context.pythonExec not in (sys.executable, worker_python(is_local=True)):
        return False
    let_workers_find_penstock(context.environment)
    return True


def _look_at_workers(session: SparkSession) -> None:
    context = session.sparkContext
    count = max(1, min(_MOST_LOOKS, context.defaultParallelism))
    # By value: a function that has to be imported could not tell that nothing can be.
    cloudpickle.register_pickle_by_value(worker_probe)  # type: ignore[no-untyped-call]
    try:
        with described(session, "Penstock looks whether the workers can run it"):
            found = context.parallelize([NEEDED] * count, count).map(worker_probe.look).collect()
    except Exception as error:
        raise _explained(context, error) from None
    finally:
        cloudpickle.unregister_pickle_by_value(worker_probe)  # type: ignore[no-untyped-call]
    for executable, version, host, missing in found:
        if missing:
            python = f"Python {version} of Spark's workers ({executable} on {host})"
            raise ConfigurationError(f"{python} has no {', '.join(missing)}: {_what_to_set(context)}")


def _explained(context: SparkContext, error: Exception) -> Exception:
    text = str(error)
    if "PYTHON_VERSION_MISMATCH" in text:
        return ConfigurationError(
            f"Spark's workers run another version of Python ({context.pythonExec}) than this program, which runs "
            f"{platform.python_version()}: {_what_to_set(context)}"
        )
    if "Cannot run program" in text:
        return ConfigurationError(
            f"there is no Python {context.pythonExec!r} where Spark's workers run: {_what_to_set(context)}"
        )
    return error


def _what_to_set(context: SparkContext) -> str:
    if is_here(context.master or ""):
        return f"set the variable PYSPARK_PYTHON to {sys.executable}, or unset it, before the Spark session is made"
    return (
        "set PYSPARK_PYTHON (with spark-submit: spark.pyspark.python) to a Python that is on every machine at the same "
        "path, with the packages that Penstock depends on; docs/cluster.md says how"
    )


def _package_archive() -> str:
    """Penstock itself as a zip, for executors that do not have it installed."""
    folder = make_scratch("package")
    # Executors may ask for it as long as the driver lives.
    atexit.register(remove_scratch, folder)
    target = Path(folder) / "penstock.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(_PACKAGE.rglob("*.py")):
            archive.write(path, path.relative_to(_PACKAGE.parent))
    return str(target)
