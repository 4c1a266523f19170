"""PyFlink's base classes of unittest, whose jobs run in this process without Java.

Each test has a new environment (`self.env`), tables on it where the name says so (`self.t_env`), and a folder
(`self.tempdir`).
"""

from __future__ import annotations

import shutil
import tempfile
import unittest
from typing import Any

from penstock.common import JobExecutionResult
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment
from penstock.table.table import Table

__all__ = [
    "PyFlinkBatchTableTestCase",
    "PyFlinkBatchTestCase",
    "PyFlinkITTestCase",
    "PyFlinkStreamTableTestCase",
    "PyFlinkStreamingTestCase",
    "PyFlinkTestCase",
    "exec_insert_table",
]


def exec_insert_table(table: Table, table_path: str) -> JobExecutionResult:
    """Insert the rows of a table into another, and wait for the end of the job."""
    client = table.execute_insert(table_path).get_job_client()
    assert client is not None, "an INSERT starts a job"
    return client.get_job_execution_result().result()


class PyFlinkTestCase(unittest.TestCase):
    """A test with a folder of its own."""

    tempdir: str

    def setUp(self) -> None:
        """Make the folder."""
        self.tempdir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.tempdir, ignore_errors=True)

    @classmethod
    def assert_equals(cls, actual: Any, expected: Any) -> None:
        """Compare two collections, whatever the order of their elements."""
        unittest.TestCase().assertEqual(sorted(map(str, actual)), sorted(map(str, expected)))


class PyFlinkITTestCase(PyFlinkTestCase):
    """The same; PyFlink starts a cluster for it, which is not needed here."""


class PyFlinkStreamingTestCase(PyFlinkITTestCase):
    """A test of a stream."""

    _mode = RuntimeExecutionMode.STREAMING

    def setUp(self) -> None:
        """Make the environment."""
        super().setUp()
        self.env = StreamExecutionEnvironment.in_process().set_parallelism(2).set_runtime_mode(self._mode)


class PyFlinkBatchTestCase(PyFlinkStreamingTestCase):
    """A test of a stream in batch mode."""

    _mode = RuntimeExecutionMode.BATCH


class PyFlinkStreamTableTestCase(PyFlinkStreamingTestCase):
    """A test of tables."""

    def setUp(self) -> None:
        """Make the environment of tables."""
        super().setUp()
        self.t_env = StreamTableEnvironment.create(self.env)


class PyFlinkBatchTableTestCase(PyFlinkStreamTableTestCase):
    """A test of tables in batch mode."""

    _mode = RuntimeExecutionMode.BATCH
