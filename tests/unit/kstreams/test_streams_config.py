"""The configuration of an application: no key passes in silence unless it does something."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from penstock.errors import ConfigurationError
from penstock.kstreams import Consumed, Serdes, StreamsBuilder, TopologyTestDriver
from penstock.kstreams.streams_config import StreamsConfig, checked_config

TEXT = Serdes.String()


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("processing.guarentee", "exactly_once_v2", "Penstock does not know it; did you mean 'processing.guarantee'?"),
        ("default.timestamp.extracter", "x", "did you mean 'default.timestamp.extractor'?"),
        ("commit.interval.ms", 100, "a commit is the end of a batch; set execution.checkpointing.interval instead"),
        ("statestore.cache.max.bytes", 1000, "every update is emitted, as with a cache of 0 bytes"),
        ("num.standby.replicas", 1, "a lost task rebuilds its state"),
        ("max.poll.records", 5, "a setting of Kafka's clients needs consumer. or producer. before it."),
    ],
)
def test_keys_without_effect_warn(key: str, value: Any, text: str) -> None:
    with pytest.warns(UserWarning) as told:
        checked_config({key: value})
    (warning,) = told
    assert str(warning.message).startswith(f"Configuration key {key!r} has no effect: ")
    assert text in str(warning.message)
    assert warning.filename == __file__


def test_keys_with_effect_are_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked_config(
            {
                "application.id": "a",
                "bootstrap.servers": "b",
                "processing.guarantee": "exactly_once_v2",
                "consumer.max.poll.records": 5,
                "sasl.mechanism": "PLAIN",
                "statestore.cache.max.bytes": 0,
                "penstock.engine": "in-process",
                "deserialization.exception.handler": "org.apache.kafka.streams.errors.LogAndFailExceptionHandler",
            }
        )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("default.deserialization.exception.handler", "org.apache.kafka.streams.errors.LogAndContinueExceptionHandler"),
        ("processing.exception.handler", object),
        ("errors.dead.letter.queue.topic.name", "letters"),
    ],
)
def test_handlers_that_would_do_nothing_are_refused(key: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"{key} .*[Cc]atch the exception in the function"):
        checked_config({key: value})


def times_of(extractor: Any, given: int, own: Any = None) -> list[Any]:
    """Timestamps of records that come out, for two that go in."""
    builder = StreamsBuilder()
    consumed = Consumed.with_(TEXT, TEXT) if own is None else Consumed.with_(TEXT, TEXT).with_timestamp_extractor(own)
    builder.stream("in", consumed).to("out")
    configs: dict[str, Any] = {} if extractor is None else {"default.timestamp.extractor": extractor}
    with TopologyTestDriver(
        builder.build(), {"default.key.serde": TEXT, "default.value.serde": TEXT, **configs}
    ) as driver:
        topic = driver.create_input_topic("in", TEXT, TEXT)
        topic.pipe_input("a", "x", 1_000)
        topic.pipe_input("a", "y", given)
        return [record.timestamp for record in driver.create_output_topic("out", TEXT, TEXT).read_records_to_list()]


def test_the_default_timestamp_extractor_works() -> None:
    assert times_of(None, 5) == [1_000, 5]
    assert times_of(lambda record, partition_time: record.timestamp + 1, 5) == [1_001, 6]
    assert times_of(lambda record, partition_time: 7, 5, own=lambda record, partition_time: 8) == [8, 8]
    assert min(times_of("org.apache.kafka.streams.processor.WallclockTimestampExtractor", 5)) > 1_600_000_000_000


def test_extractors_of_invalid_timestamps() -> None:
    for name, expected in (("UsePartitionTimeOnInvalidTimestamp", 1_000), ("LogAndSkipOnInvalidTimestamp", None)):
        extractor = StreamsConfig.default_timestamp_extractor({"default.timestamp.extractor": name})
        assert (extractor is None) is (expected is None)
    builder = StreamsBuilder()
    builder.stream("in", Consumed.with_(TEXT, TEXT)).to("out")
    with pytest.raises(ConfigurationError, match=r"must be a function of .* or one of FailOnInvalidTimestamp"):
        TopologyTestDriver(builder.build(), {"default.timestamp.extractor": "no.Such"})
