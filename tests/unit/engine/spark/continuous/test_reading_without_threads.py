"""Spark's own thread for the input of a worker is turned off, and what it did for the output is still done."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from penstock.engine.spark.continuous.pipelined import read_without_threads
read_without_threads()
print(os.environ.get("SPARK_PIPELINED_UDF"), ArrowStreamSerializer(write_start_stream=True)._flush_per_batch)
"""


@pytest.mark.parametrize(
    ("variables", "told"), [({"SPARK_PIPELINED_UDF": "1"}, "None True"), ({}, "None False")], ids=["pipelined", "plain"]
)
def test_workers_that_java_feeds_all_the_time(variables: dict[str, str], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == told.split()
