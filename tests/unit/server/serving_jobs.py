"""A job in this process, and a client of a server that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import JobCancelledError
from penstock.job.client import RunningJobClient
from penstock.server.access import Access
from penstock.server.app import create_app
from penstock.server.job_views import ClientView, JobView, SingleJob
from penstock.tokens import Role

OPERATE, READ = "operate-" + "o" * 20, "read-" + "r" * 20
HOSTILE = "<script>alert(1)</script>\x1b[31m"


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if value == 0 and count == FAILS_AT[0]:
            FAILS_AT[0] = 0
            raise ValueError(HOSTILE)
        yield value, count


FAILS_AT = [0]


@contextmanager
def counting_job(folder: Path | None, name: str = "counts", fails_at: int = 0) -> Iterator[RunningJobClient]:
    """A job that counts for as long as the block lasts; it fails once, at the given count of a key.

    Without a folder it has no directory for savepoints.
    """
    FAILS_AT[0] = fails_at
    configuration = (
        Configuration()
        .set_string("penstock.engine", "in-process")
        .set_string("execution.checkpointing.interval", "20ms")
        .set_string("restart-strategy.type", "fixed-delay")
        .set_string("restart-strategy.fixed-delay.attempts", "3")
        .set_string("restart-strategy.fixed-delay.delay", "10ms")
        .set_string("pipeline.global-job-parameters", "db.password:hunter2")
    )
    if folder is not None:
        configuration.set_string("execution.checkpointing.savepoint-dir", str(folder / "savepoints"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    source = DataGeneratorSource(lambda index: index % 5, 10**9, RateLimiterStrategy.per_second(500.0))
    stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    stream.key_by(lambda value: value).process(Count()).name(f"count {HOSTILE}").uid("count").print()
    client = env.execute_async(name)
    assert isinstance(client, RunningJobClient)
    try:
        yield client
    finally:
        client.cancel()
        with suppress(JobCancelledError):
            client.wait()


@contextmanager
def client_of(view: JobView, access: Access | None = None) -> Iterator[TestClient]:
    """A client of a server that shows one job."""
    app = create_app(SingleJob(view), access or Access())
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as client:
        yield client


def two_tokens() -> Access:
    return Access({OPERATE: Role.OPERATE, READ: Role.READ})


def shown(client: RunningJobClient) -> ClientView:
    return ClientView(client)
