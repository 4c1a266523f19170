"""Exchange writers: each record goes where its partitioning says, in order, with the watermark behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.graph.nodes import Exchange, Partitioning
from penstock.graph.plan import OutEdge
from penstock.keys.codec import encode_key
from penstock.keys.groups import key_group, subtask_of
from penstock.runtime import exchange, rows
from penstock.runtime.exchange import RowEmitter, create_writer
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.rows import ExchangeRow

PARTITIONINGS = {
    Exchange.FORWARD: Partitioning(Exchange.FORWARD),
    Exchange.KEYED: Partitioning(Exchange.KEYED, lambda value: value % 7),
    Exchange.REBALANCE: Partitioning(Exchange.REBALANCE),
    Exchange.RESCALE: Partitioning(Exchange.RESCALE),
    Exchange.SHUFFLE: Partitioning(Exchange.SHUFFLE),
    Exchange.BROADCAST: Partitioning(Exchange.BROADCAST),
    Exchange.GLOBAL: Partitioning(Exchange.GLOBAL),
    Exchange.CUSTOM: Partitioning(Exchange.CUSTOM, lambda value: value, lambda key, targets: key % targets),
}


class Sender:
    """A writer of one subtask and the rows it has sent."""

    def __init__(self, partitioning: Partitioning, targets: int, *, subtask: int = 0, parallelism: int = 1) -> None:
        self.rows: list[ExchangeRow] = []
        edge = OutEdge(2, 0, None, partitioning, 5, 1, targets, 128, False)
        emitter = RowEmitter(3, subtask, self.rows.append)
        emitter.begin_batch(0)
        self.writer = create_writer(edge, subtask, parallelism, emitter, "Sender", "sender-uid")
        self.writer.begin_batch(0)

    def blocks(self) -> list[tuple[int, rows.Block]]:
        self.writer.flush()
        return [(row.target, rows.decode_block(row.payload)) for row in self.rows if row.kind == rows.DATA]

    def received(self) -> dict[int, list[tuple[Any, int | None]]]:
        """Records with timestamps by target, in the order sent."""
        found: dict[int, list[tuple[Any, int | None]]] = {}
        for target, block in self.blocks():
            stamps = block.timestamps or [None] * len(block.values)
            found.setdefault(target, []).extend(zip(block.values, stamps, strict=True))
        return found


@settings(max_examples=30)
@given(
    kind=st.sampled_from(list(Exchange)),
    blocks=st.lists(st.lists(st.integers(0, 1000), max_size=20), max_size=5),
    targets=st.integers(1, 5),
    place=st.tuples(st.integers(1, 5), st.integers(0, 4)).filter(lambda place: place[1] < place[0]),
    version=st.integers(0, 9),
    stamped=st.booleans(),
)
def test_nothing_is_lost_doubled_or_reordered(
    kind: Exchange, blocks: list[list[int]], targets: int, place: tuple[int, int], version: int, stamped: bool
) -> None:
    sender = Sender(PARTITIONINGS[kind], targets, subtask=place[1], parallelism=place[0])
    sender.writer.begin_batch(version)
    number = 0
    sent: list[tuple[int, int | None]] = []
    for block in blocks:
        stamps = list(range(number, number + len(block))) if stamped else None
        number += len(block)
        sender.writer.write(block, stamps)
        sent += zip(block, stamps or [None] * len(block), strict=True)
    received = sender.received()
    copies = targets if kind is Exchange.BROADCAST else 1
    everything = Counter(record for records in received.values() for record in records)
    assert everything == Counter({record: count * copies for record, count in Counter(sent).items()})
    assert set(received) <= set(range(targets))
    for records in received.values():
        order = iter(sent)
        assert all(record in order for record in records), "the order of the sender is kept"


@settings(max_examples=30)
@given(
    keys=st.lists(st.one_of(st.text(max_size=3), st.integers(), st.tuples(st.integers(), st.text(max_size=2)))),
    targets=st.integers(1, 7),
)
def test_keyed_records_go_to_the_subtask_of_their_key_group_with_their_keys(keys: list[Any], targets: int) -> None:
    sender = Sender(Partitioning(Exchange.KEYED, lambda value: value[0]), targets)
    sender.writer.write([(key, index) for index, key in enumerate(keys)], None)
    for target, block in sender.blocks():
        assert block.keys == [value[0] for value in block.values]
        for key in block.keys:
            assert subtask_of(key_group(encode_key(key), 128), targets, 128) == target


def test_equal_keys_of_different_types_meet() -> None:
    sender = Sender(Partitioning(Exchange.KEYED, lambda value: value), 5)
    sender.writer.write([1, True, 1.0], None)
    assert len(sender.received()) == 1


def test_keys_that_cannot_be_hashed_are_routed_too() -> None:
    sender = Sender(Partitioning(Exchange.KEYED, lambda value: value), 4)
    sender.writer.write([[1, 2], [3], [1, 2]], None)
    received = sender.received()
    assert sum(map(len, received.values())) == 3
    assert any(values.count(([1, 2], None)) == 2 for values in received.values())


def test_the_route_cache_may_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ROUTE_CACHE_LIMIT", 3)
    sender = Sender(Partitioning(Exchange.KEYED, lambda value: value), 4)
    sender.writer.write([*range(20), *range(20)], None)
    by_key: dict[int, set[int]] = {}
    for target, records in sender.received().items():
        for value, _ in records:
            by_key.setdefault(value, set()).add(target)
    assert all(len(targets) == 1 for targets in by_key.values()) and len(by_key) == 20


@pytest.mark.parametrize("targets", [1, 3])
def test_a_key_without_canonical_bytes_names_the_record(targets: int) -> None:
    sender = Sender(Partitioning(Exchange.KEYED, lambda value: value), targets)
    with pytest.raises(OperatorFailure, match="encoding the key\nrecord: <object object"):
        sender.writer.write([1, object()], None)


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("kind", [Exchange.KEYED, Exchange.CUSTOM])
def test_a_failing_key_selector_names_operator_and_record(kind: Exchange, targets: int) -> None:
    sender = Sender(Partitioning(kind, lambda value: 1 // value, lambda key, targets: 0), targets)
    with pytest.raises(OperatorFailure) as failure:
        sender.writer.write([1, 0, 2], None)
    text = "in operator 'Sender' (uid 'sender-uid', subtask 0), selecting the key\nrecord: 0"
    assert text in str(failure.value)


@pytest.mark.parametrize("wrong", [-1, 3, "1", None, 0.0])
def test_a_partitioner_must_name_a_target(wrong: Any) -> None:
    decide: Callable[[Any, int], Any] = lambda key, targets: wrong if key == "bad" else 0  # noqa: E731
    sender = Sender(Partitioning(Exchange.CUSTOM, lambda value: value, decide), 3)
    with pytest.raises(OperatorFailure, match=r"must return a number in 0..2[\s\S]*record: 'bad'"):
        sender.writer.write(["good", "bad"], None)


def test_rebalance_spreads_evenly_and_starts_elsewhere_in_each_version() -> None:
    sender = Sender(PARTITIONINGS[Exchange.REBALANCE], 3)
    for value in range(7):
        sender.writer.write([value], None)
    assert sorted(map(len, sender.received().values())) == [2, 2, 3]
    firsts = set()
    for version in range(3):
        sender.rows.clear()
        sender.writer.begin_batch(version)
        sender.writer.write([0], None)
        firsts.update(sender.received())
    assert firsts == {0, 1, 2}


@pytest.mark.parametrize(("senders", "targets"), [(2, 4), (4, 2), (2, 3), (3, 2), (1, 5), (5, 1), (3, 3)])
def test_rescale_reaches_every_target_and_only_near_ones(senders: int, targets: int) -> None:
    reached = []
    for subtask in range(senders):
        sender = Sender(PARTITIONINGS[Exchange.RESCALE], targets, subtask=subtask, parallelism=senders)
        sender.writer.write(list(range(20)), None)
        reached.append(set(sender.received()))
    assert set().union(*reached) == set(range(targets))
    largest = max(1, -(-targets // senders))
    assert all(1 <= len(each) <= largest for each in reached)


@pytest.mark.parametrize("kind", [Exchange.SHUFFLE, Exchange.REBALANCE])
def test_a_replay_of_a_version_decides_alike(kind: Exchange) -> None:
    sender = Sender(PARTITIONINGS[kind], 4)
    runs = []
    for _ in range(2):
        sender.rows.clear()
        sender.writer.begin_batch(8)
        sender.writer.write(list(range(50)), None)
        runs.append(sender.received())
    assert runs[0] == runs[1]


def test_what_a_failed_batch_left_pending_is_not_sent() -> None:
    sender = Sender(PARTITIONINGS[Exchange.KEYED], 2)
    sender.writer.write([1, 2, 3], None)
    sender.writer.begin_batch(1)
    sender.writer.write([4], None)
    assert list(sender.received().values()) == [[(4, None)]]


@pytest.mark.parametrize("kind", list(Exchange))
def test_control_rows_come_behind_the_data_at_every_target_they_concern(kind: Exchange) -> None:
    sender = Sender(PARTITIONINGS[kind], 2, subtask=1, parallelism=2)
    sender.writer.write(list(range(20)), None)
    sender.writer.control(rows.WATERMARK, rows.encode_number(9))
    last_data = max(row.seq for row in sender.rows if row.kind == rows.DATA)
    controls = [row for row in sender.rows if row.kind == rows.WATERMARK]
    assert {row.target for row in controls} == ({1} if kind is Exchange.FORWARD else {0, 1})
    assert all(row.seq > last_data for row in controls)
    assert [row.seq for row in sender.rows] == list(range(len(sender.rows)))
    assert {(row.vertex, row.input) for row in sender.rows} == {(5, 1)}
    assert {rows.sender_of(row.src) for row in sender.rows} == {(3, 2, 1)}


def test_forward_from_more_splits_than_targets_wraps_round_and_tells_everybody() -> None:
    sender = Sender(PARTITIONINGS[Exchange.FORWARD], 2, subtask=4, parallelism=5)
    sender.writer.write([1], None)
    assert list(sender.received()) == [0]
    sender.writer.control(rows.END, b"")
    assert {row.target for row in sender.rows if row.kind == rows.END} == {0, 1}


def test_a_full_block_leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "BLOCK_RECORDS", 4)
    sender = Sender(PARTITIONINGS[Exchange.GLOBAL], 3)
    sender.writer.write([1, 2, 3], None)
    assert sender.rows == []
    sender.writer.write([4], None)
    assert len(sender.rows) == 1


def test_the_driver_gets_no_control_rows() -> None:
    sent: list[ExchangeRow] = []
    edge = OutEdge(0, 0, None, PARTITIONINGS[Exchange.FORWARD], 5, 0, 1, 128, True)
    writer = create_writer(edge, 0, 1, RowEmitter(3, 0, sent.append), "Sender")
    writer.write([1], None)
    writer.control(rows.WATERMARK, rows.encode_number(1))
    assert [row.kind for row in sent] == [rows.DATA]
