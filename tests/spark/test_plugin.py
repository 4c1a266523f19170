"""The fixtures that the pytest plugin gives to users, on real Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.datastream import StreamExecutionEnvironment
from penstock.job.client import RunningJobClient
from penstock.testing import CollectSink


def test_a_job_runs_on_the_shared_session_of_the_plugin(
    spark: SparkSession, penstock_spark: SparkSession, penstock_spark_env: StreamExecutionEnvironment
) -> None:
    assert penstock_spark is spark, "a session that is there is used, and left running"
    sink = CollectSink()
    sums = penstock_spark_env.from_collection([1, 2, 3]).key_by(lambda value: value % 2).reduce(lambda a, b: a + b)
    sums.add_sink(sink)
    client = penstock_spark_env.execute_async()
    assert isinstance(client, RunningJobClient)
    client.wait()
    assert sorted(sink.get_results(stringify=False)) == [1, 2, 4]
