"""One Spark session for all tests of a run, and an environment that uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.spark.startup.session import get_session
from penstock.engine.spark.startup.session_config import JAVA_OPTIONS
from penstock.graph import JobSettings
from tests.spark.processes import QUICK_JAVA

NewEnvironment = Callable[..., StreamExecutionEnvironment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of the run: two cores, tasks retried as in production, a Java that compiles no more than it must."""
    quick = {JAVA_OPTIONS: QUICK_JAVA}
    session = get_session(JobSettings(job_name="tests", spark_master="local[2,4]", spark_config=quick))
    yield session
    session.stop()


@pytest.fixture
def new_environment(spark: SparkSession, tmp_path: Path) -> NewEnvironment:
    """Make an environment: `new_environment(parallelism=2, checkpoint="name", **configuration)`.

    The same checkpoint name in one test gives the same directory, so a second job resumes the first.
    """

    def make(parallelism: int = 2, checkpoint: str | None = None, **settings: object) -> StreamExecutionEnvironment:
        configuration = Configuration()
        for key, value in settings.items():
            configuration.set_string(key, str(value))
        environment = StreamExecutionEnvironment.get_execution_environment(configuration)
        environment.set_parallelism(parallelism)
        if checkpoint is not None:
            environment.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / checkpoint))
        return environment

    return make
