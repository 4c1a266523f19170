"""One real Kafka broker for all tests of a run, and topics that no other test uses."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.kafka_broker import LocalBroker, broker_jars
from tests.spark.conftest import new_environment, spark

__all__ = ["new_environment", "spark"]

NewTopic = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def kafka_jars() -> Path:
    """The broker's jars; where they cannot be fetched its tests are skipped, or fail if they are required."""
    try:
        return broker_jars()
    except PenstockError as error:
        if os.environ.get("PENSTOCK_REQUIRE_KAFKA") == "1":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def kafka(kafka_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """The broker of the run; a test that stops or kills one makes its own, with the fixture `own_kafka`."""
    broker = LocalBroker(tmp_path_factory.mktemp("kafka"), ends_with_starter=True)
    try:
        yield broker.start()
    finally:
        broker.remove()


@pytest.fixture
def own_kafka(kafka_jars: Path, tmp_path: Path) -> Iterator[LocalBroker]:
    """A broker for one test, not started yet."""
    broker = LocalBroker(tmp_path / "kafka", ends_with_starter=True)
    try:
        yield broker
    finally:
        broker.remove()


@pytest.fixture
def topic(kafka: LocalBroker) -> NewTopic:
    """Make a topic of the test's own: `topic(partitions=2, name="orders")` gives its full name."""

    def make(partitions: int = 1, name: str = "t", **settings: str) -> str:
        full = f"{name}-{uuid.uuid4().hex[:12]}"
        kafka.create_topic(full, partitions, {key.replace("_", "."): value for key, value in settings.items()})
        return full

    return make
