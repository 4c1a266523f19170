"""Sinks of systems without transactions: they ask whether their driver still holds the checkpoint before they send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.connectors import holding
from penstock.connectors.holding import HoldWatch, is_held
from penstock.connectors.kafka.library import ConnectionErrors
from penstock.connectors.kafka.sink import SendingWriter
from penstock.connectors.sink import Hold, SinkContext
from penstock.errors import SinkError


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self, which: int) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(holding.time, "clock_gettime", made)
    return made


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    (tmp_path / "owner").write_text("first")
    return Hold(str(tmp_path / "owner"), "first")


def test_a_hold_is_lost_to_another_driver_and_with_the_directory(hold: Hold) -> None:
    assert is_held(hold) and is_held(Hold())
    assert is_held(Hold(f"file://{hold.file}", "first"))
    Path(hold.file).write_text("second")
    assert not is_held(hold)
    Path(hold.file).unlink()
    assert not is_held(hold)


def test_who_was_paused_asks_when_it_goes_on(hold: Hold, clock: Clock) -> None:
    watch = HoldWatch(hold, "sink 'x'")
    watch.check()
    Path(hold.file).write_text("second")
    clock.now += 0.5
    watch.check()  # asked a moment ago
    clock.now += 3600
    with pytest.raises(SinkError, match="sink 'x' writes nothing more: another driver has taken over"):
        watch.check()


class Producer:
    """Takes messages."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def flush(self) -> None:
        self.sent.append("flushed")


def test_a_writer_of_kafka_sends_nothing_for_a_driver_that_was_taken_over(
    hold: Hold, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.connectors.kafka import sink as kafka_sink

    monkeypatch.setattr(kafka_sink, "produce_block", lambda producer, block, on_delivery: producer.sent.append(block))
    context = SinkContext("job", "sink", "orders", 0, 1, lambda: 0, hold=hold)
    producer, encoder = Producer(), type("Encoder", (), {"encode": lambda self, values, timestamps: values})()
    writer = SendingWriter(producer, encoder, context, ConnectionErrors(), "here:1", is_sure=True)
    writer.begin(1, "a", None)
    writer.write(["one"], None, 0)
    assert producer.sent == [["one"]]
    Path(hold.file).write_text("second")
    clock.now += 60  # paused
    with pytest.raises(SinkError, match="another driver has taken over"):
        writer.write(["two"], None, 0)
    with pytest.raises(SinkError, match="another driver has taken over"):
        writer.prepare_commit(0, False)
    assert producer.sent == [["one"]]
