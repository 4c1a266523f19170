"""Tasks that read by themselves go on from the same partitions, also where each would find others by itself."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from penstock.connectors.source import FoundPartition, PartitionedSource, PartitionEnumerator, PartitionReader
from penstock.job.intake import IntakeRequest, SourceList
from penstock.job.partition_intake import PartitionedVertex
from penstock.runtime.source_tasks import Offset

READERS = 2
UID = "rows"


class Table(PartitionedSource[int]):
    """Numbered rows in two ranges; there is another row each time that somebody looks."""

    def __init__(self, *, is_watched: bool = False) -> None:
        self.rows = 10
        self.is_watched = is_watched
        self.closed = 0

    def is_bounded(self) -> bool:
        return not self.is_watched

    def owner(self, partition: str, parallelism: int) -> int:
        return int(partition != "0")

    def create_enumerator(self, name: str) -> PartitionEnumerator:
        return _Look(self)

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        raise AssertionError("nothing is read")


class _Look(PartitionEnumerator):
    def __init__(self, table: Table) -> None:
        self._table = table

    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        self._table.rows += 1
        middle = self._table.rows // 2
        return {"0": FoundPartition(0, middle), str(middle): FoundPartition(middle, self._table.rows)}

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        return dict.fromkeys(positions, 1 << 62)

    def close(self) -> None:
        self._table.closed += 1


def sources_of(table: Table) -> SourceList:
    return SourceList({}, {}, 1_000, {UID: PartitionedVertex(0, "rows", table, READERS, has_idleness=False)})


def rows_read(sources: SourceList, start: Offset) -> list[int]:
    """What the tasks read together, each on its own."""
    found: list[int] = []
    for number in range(READERS):
        mine, at = sources.for_reader(number), start
        for _ in range(4):
            end = mine.next_offset(at, IntakeRequest(), now_ms=0, elapsed_ms=0)
            tasks = [task for task in mine.tasks(at, end) if task.split == number]
            found += [row for task in tasks for each in task.ranges or () for row in range(each.start, each.stop)]
            at = end
    return sorted(found)


def test_partitions_of_a_source_with_an_end_are_found_once() -> None:
    table = Table()
    sources = sources_of(table)
    start = sources.with_partitions(sources.first_offset(), 0)
    assert rows_read(sources, start) == list(range(11))
    assert not start.begun, "tasks tell their operators of partitions when they begin"
    assert table.closed == 1, "the driver holds on to a connection"


def test_each_task_by_itself_would_read_something_else() -> None:
    sources = sources_of(Table())
    assert rows_read(sources, sources.first_offset()) != list(range(11))


@pytest.mark.parametrize("start", [Offset(begun=True), Offset(partitions={UID: {"0": 3}}, stops={UID: {"0": 5}})])
def test_what_was_decided_before_stays(start: Offset) -> None:
    assert sources_of(Table()).with_partitions(start, 0) == start


def test_sources_that_find_partitions_later_look_by_themselves() -> None:
    table = Table(is_watched=True)
    assert sources_of(table).with_partitions(Offset(), 0) == Offset()
    assert table.rows == 10
