"""Penstock: the stream-processing model of Apache Flink for Python, run on Apache Spark.

Programs import from `penstock.common` and `penstock.datastream`, whose names and module paths are those of PyFlink;
next to nothing is imported here, so that a worker process loads what it needs and no more.
"""

from __future__ import annotations

from penstock.pyflink_names import explain_gone_modules

__version__ = "0.1.0.dev0"

explain_gone_modules()
