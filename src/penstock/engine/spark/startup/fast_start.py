"""The switch of everything Penstock does so that Spark starts quickly: the setting `penstock.spark.fast-start`.

With `false` Spark starts as it does by itself, which takes some seconds longer. Use it to find out whether one of these
is to blame for a trouble:

- the JVM maps Spark's classes from an archive (`class_archive`);
- Python processes leave out the zipped copy of PySpark (`worker_python`);
- those of sources are forked from one with their imports done (`forked_processes`);
- workers are forked from a daemon with their imports done (`worker_daemon`);
- workers keep what lives long out of garbage collections (`worker_garbage`), and freed memory for the next block
  (`worker_memory`).

The first four are chosen in the driver. Workers are told by a variable, which Spark sends with every function.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

_VARIABLE = "PENSTOCK_FAST_START"
_OFF = "false"


def tell_workers(variables: MutableMapping[str, str], *, fast_start: bool) -> None:
    """Set or clear the variable of the workers that are started for the functions of a job."""
    if fast_start:
        variables.pop(_VARIABLE, None)
    else:
        variables[_VARIABLE] = _OFF


def is_fast() -> bool:
    """Whether the switch is on in this worker process."""
    return os.environ.get(_VARIABLE) != _OFF
