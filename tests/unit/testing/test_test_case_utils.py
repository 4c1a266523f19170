"""PyFlink's base classes of unittest: what programs of PyFlink's users do with them."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.common import Types
from penstock.datastream import RuntimeExecutionMode
from penstock.testing.test_case_utils import (
    PyFlinkBatchTableTestCase,
    PyFlinkStreamingTestCase,
    PyFlinkStreamTableTestCase,
    exec_insert_table,
)


class StreamTests(PyFlinkStreamingTestCase):
    """A test of a stream."""

    def test_stream(self) -> None:
        assert self.env.get_parallelism() == 2
        numbers = self.env.from_collection([3, 1, 2], Types.INT()).map(lambda each: each * 2)
        self.assert_equals(list(numbers.execute_and_collect()), [2, 4, 6])


class TableTests(PyFlinkStreamTableTestCase):
    """A test of tables, with files in the folder of the test."""

    def test_table(self) -> None:
        folder = os.path.join(self.tempdir, "out")
        self.t_env.execute_sql(
            f"CREATE TABLE sink (a BIGINT) WITH ('connector'='filesystem', 'path'='{folder}', 'format'='csv')"
        )
        table = self.t_env.from_elements([(1,), (2,)], ["a"])
        exec_insert_table(table, "sink")
        written = [path.read_text() for path in Path(self.tempdir, "out").iterdir() if path.is_file()]
        assert sorted("".join(written).split()) == ["1", "2"]


class BatchTests(PyFlinkBatchTableTestCase):
    """A test in batch mode."""

    def test_mode(self) -> None:
        assert self.env.get_configuration().get_string("execution.runtime-mode", "") == RuntimeExecutionMode.BATCH.name
        rows = self.t_env.execute_sql("SELECT COUNT(*) FROM (VALUES (1), (2)) AS t(a)").collect()
        self.assert_equals(rows, ["<Row(2)>"])
