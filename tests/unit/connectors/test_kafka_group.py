"""How a consumer group is told a job's positions: a client that is slow, answers late or refuses, by a script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError

from penstock.connectors.kafka.client import KafkaAccess
from penstock.connectors.kafka.group import GroupCommitter


@dataclass
class ScriptedConsumer:
    """Keeps commits until the test, or a poll that waits, has them answered; the last one answered is what counts."""

    on_commit: Callable[[Any, list[Any]], None]
    errors: list[KafkaError] = field(default_factory=list)
    waiting: list[list[Any]] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    commits: int = 0
    is_closed: bool = False

    def commit(self, offsets: list[Any], asynchronous: bool) -> None:
        assert asynchronous
        self.commits += 1
        self.waiting.append(offsets)

    def poll(self, seconds: float) -> None:
        if seconds:
            self.answer()

    def answer(self) -> None:
        # The client may send the later of two commits first.
        while self.waiting:
            offsets = self.waiting.pop()
            error = self.errors.pop(0) if self.errors else None
            if error is None:
                self.known.update({f"{each.topic}-{each.partition}": each.offset for each in offsets})
            self.on_commit(error, offsets)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedConsumer]:
    consumers: list[ScriptedConsumer] = []

    def consumer(self: KafkaAccess, who: str, role: str, on_commit: Any) -> ScriptedConsumer:
        consumers.append(ScriptedConsumer(on_commit))
        return consumers[-1]

    monkeypatch.setattr(KafkaAccess, "consumer", consumer)
    return consumers


def committer() -> GroupCommitter:
    return GroupCommitter(KafkaAccess("nowhere:9092", "readers"), "'kafka'")


def test_an_older_position_never_comes_after_a_newer_one(made: list[ScriptedConsumer]) -> None:
    group = committer()
    group.on_final({"t-0": 0, "t-1": 0})
    group.on_final({"t-0": 3, "t-1": 1})
    group.close()
    assert made[0].known == {"t-0": 3, "t-1": 1}
    assert made[0].is_closed


def test_positions_that_pile_up_behind_a_slow_commit_go_out_as_one(made: list[ScriptedConsumer]) -> None:
    group = committer()
    for at in range(100):
        group.on_final({"t-0": at})
    group.close()
    assert (made[0].known, made[0].commits) == ({"t-0": 99}, 2)


def test_a_position_that_did_not_change_is_not_told_again(made: list[ScriptedConsumer]) -> None:
    group = committer()
    group.on_final({"t-0": 5})
    made[0].answer()
    group.on_final({"t-0": 5})
    group.close()
    assert made[0].commits == 1


def test_a_commit_that_may_be_tried_again_is(made: list[ScriptedConsumer], caplog: pytest.LogCaptureFixture) -> None:
    group = committer()
    group.on_final({"t-0": 7})
    made[0].errors.append(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE, "not yet", False, True))
    group.close()
    assert made[0].known == {"t-0": 7}
    assert "cannot commit offsets for group 'readers'" in caplog.text


def test_a_refusal_is_told_once_and_does_not_hold_up_the_end(
    made: list[ScriptedConsumer], caplog: pytest.LogCaptureFixture
) -> None:
    group = committer()
    group.on_final({"t-0": 7})
    made[0].errors.extend([KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "not yours")] * 3)
    made[0].answer()
    group.on_final({"t-0": 8})
    group.close()
    assert (made[0].known, made[0].commits) == ({}, 2)
    assert caplog.text.count("cannot commit offsets") == 1
