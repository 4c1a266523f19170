"""What Spark shows of a job: its name for listeners, its batches and operators on the web pages."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from tests.spark.conftest import NewEnvironment
from tests.spark.waiting import wait_until


class Names(StreamingQueryListener):
    """Notes what listeners are told."""

    def __init__(self) -> None:
        self.started: list[str | None] = []
        self.progressed: list[str | None] = []

    def onQueryStarted(self, event: Any) -> None:
        self.started.append(event.name)

    def onQueryProgress(self, event: Any) -> None:
        self.progressed.append(event.progress.name)

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass


def shown(spark: SparkSession, word: str) -> list[tuple[str, str]]:
    """Description and name of the Spark jobs whose description has a word."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    described = [jobs.apply(index) for index in range(jobs.size())]
    pairs = [(job.description().get(), job.name()) for job in described if job.description().isDefined()]
    return [pair for pair in pairs if word in pair[0]]


def test_spark_shows_the_job_its_batches_and_operators(spark: SparkSession, new_environment: NewEnvironment) -> None:
    names = Names()
    spark.streams.addListener(names)
    try:
        environment = new_environment(2)
        doubled = environment.from_sequence(1, 10).map(lambda n: 2 * n).name("doubled")
        doubled.key_by(lambda n: n % 3).map(lambda n: n).name("by remainder").print()
        environment.execute("orders of the day")
        wait_until(lambda: names.progressed, "the listener has heard of a batch")
    finally:
        spark.streams.removeListener(names)
    assert names.started == ["orders of the day"]
    assert set(names.progressed) == {"orders of the day"}
    (first, *_) = sorted(shown(spark, "orders of the day"))
    assert first[0] == "orders of the day, batch 0"
    assert first[1].startswith("orders of the day, batch 0: ")
    assert "doubled" in first[1] and "by remainder" in first[1]


def test_two_jobs_of_one_name_run_at_the_same_time(spark: SparkSession, new_environment: NewEnvironment) -> None:
    clients: list[Any] = []
    for _ in range(2):
        environment = new_environment(1)
        environment.from_collection([1]).map(lambda n: n).print()
        clients.append(environment.execute_async("twins"))
    for client in clients:
        client.wait()
