"""What a batch takes from partitions: fair shares, offsets decided once, and who reads what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.source import (
    FoundPartition,
    PartitionedSource,
    PartitionEnumerator,
    PartitionRange,
    PartitionReader,
)
from penstock.job.intake import IntakeRequest, SourceList, grouped
from penstock.job.partition_intake import PartitionedVertex, fair_stops
from penstock.runtime.source_tasks import Offset, SourceTask


class Shelf(PartitionEnumerator):
    """Partitions that a test puts there."""

    def __init__(self) -> None:
        self.there: dict[str, FoundPartition] = {}
        self.far: dict[str, int] = {}
        self.times_asked_for_ends = 0
        self.asked_with: list[Mapping[str, int] | None] = []
        self.is_closed = False
        self.is_hurried = False

    def hurry(self) -> None:
        self.is_hurried = True

    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        self.asked_with.append(known)
        return {name: found for name, found in self.there.items() if name not in (known or {})}

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        self.times_asked_for_ends += 1
        return {name: self.far.get(name, at) for name, at in positions.items()}

    def close(self) -> None:
        self.is_closed = True


class Library(PartitionedSource):
    """The subtask of a partition is the number in its name."""

    def __init__(self, shelf: Shelf, *, stops: bool) -> None:
        self.shelf = shelf
        self.stops = stops

    def is_bounded(self) -> bool:
        return self.stops

    def create_enumerator(self, name: str) -> PartitionEnumerator:
        return self.shelf

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        return Never()

    def owner(self, partition: str, parallelism: int) -> int:
        return int(partition[1:]) % parallelism


class Never(PartitionReader):
    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[Any]:
        raise AssertionError("offsets only")


class Intake:
    """A source of partitions and the offset that the last batch came to."""

    def __init__(self, *, stops: bool = False, parallelism: int = 2, limit: int = 1000, idleness: bool = False) -> None:
        self.shelf = Shelf()
        vertex = PartitionedVertex(4, "shelf", Library(self.shelf, stops=stops), parallelism, idleness)
        self.list = SourceList({}, {}, limit, {"u": vertex})
        self.offset = self.list.first_offset()
        self.start = Offset()

    def batch(self, **request: Any) -> list[SourceTask]:
        self.start = self.offset
        self.offset = self.list.next_offset(self.offset, IntakeRequest(**request), now_ms=0, elapsed_ms=0)
        return self.list.tasks(self.start, self.offset)

    def ranges(self, **request: Any) -> dict[int, list[tuple[Any, ...]]]:
        return {
            task.split: [(each.name, each.start, each.stop, each.ends) for each in task.ranges or ()]
            for task in self.batch(**request)
        }


def test_where_partitions_begin_is_in_the_offset_before_anything_is_read() -> None:
    intake = Intake()
    intake.shelf.there = {"p0": FoundPartition(5), "p3": FoundPartition(0)}
    intake.shelf.far = {"p0": 9, "p3": 2}
    assert intake.ranges() == {0: [("p0", 5, 5, False)], 1: [("p3", 0, 0, False)]}
    assert intake.offset.partitions == {"u": {"p0": 5, "p3": 0}}
    assert intake.ranges() == {0: [("p0", 5, 9, False)], 1: [("p3", 0, 2, False)]}
    assert intake.ranges() == {}


def test_a_first_batch_that_is_planned_again_decides_again_but_a_later_one_never() -> None:
    intake = Intake()
    intake.shelf.there = {"p0": FoundPartition(5)}
    first = intake.list.next_offset(intake.offset, IntakeRequest(), now_ms=0, elapsed_ms=0)
    assert intake.shelf.asked_with == [None]
    intake.list.next_offset(first, IntakeRequest(), now_ms=0, elapsed_ms=0)
    assert intake.shelf.asked_with == [None, {"p0": 5}]


def test_a_partition_that_turns_up_is_known_to_its_subtask_before_it_is_read() -> None:
    intake = Intake()
    intake.shelf.there = {"p0": FoundPartition(0)}
    intake.batch()
    intake.shelf.there["p1"] = FoundPartition(7)
    intake.shelf.far = {"p0": 3, "p1": 8}
    assert intake.ranges() == {0: [("p0", 0, 3, False)], 1: [("p1", 7, 7, False)]}
    assert intake.ranges() == {1: [("p1", 7, 8, False)]}


def test_every_subtask_is_told_of_the_beginning_also_without_partitions() -> None:
    intake = Intake(parallelism=3)
    assert intake.ranges() == {0: [], 1: [], 2: []}
    assert intake.ranges() == {}


def test_a_partition_and_then_its_subtask_end_at_the_stop_that_was_decided_first() -> None:
    intake = Intake(stops=True)
    intake.shelf.there = {"p0": FoundPartition(0, 4), "p2": FoundPartition(0, 2), "p1": FoundPartition(3, 3)}
    intake.shelf.far = {"p0": 100, "p1": 100, "p2": 100}
    tasks = intake.batch()
    assert [(task.split, task.ends) for task in tasks] == [(0, False), (1, True)], "p1 has nothing to give"
    intake.shelf.there["p4"] = FoundPartition(0, 1)
    assert intake.ranges(limit=4) == {0: [("p0", 0, 2, False), ("p2", 0, 2, True)]}
    (task,) = intake.batch()
    assert task.ends and task.ranges == (PartitionRange("p0", 2, 4, True),)
    assert intake.batch() == [], "it had ended, and none turn up later"
    assert intake.offset.stops == {"u": {"p0": 4, "p1": 3, "p2": 2}}


def test_a_stop_before_the_beginning_reads_nothing() -> None:
    intake = Intake(stops=True, parallelism=1)
    intake.shelf.there = {"p0": FoundPartition(10, 4)}
    (task,) = intake.batch()
    assert task.ends and task.ranges == (PartitionRange("p0", 10, 10, True),)


def test_a_bounded_source_without_partitions_ends_at_once() -> None:
    intake = Intake(stops=True, parallelism=2)
    assert [task.ends for task in intake.batch()] == [True, True]
    assert intake.batch() == []


def test_draining_ends_without_asking() -> None:
    intake = Intake()
    assert [task.ends for task in intake.batch(is_draining=True)] == [True, True]
    assert intake.shelf.asked_with == []
    assert intake.batch() == []


def test_idleness_is_looked_for_only_where_there_is_a_timeout() -> None:
    for idleness in (True, False):
        intake = Intake(idleness=idleness)
        intake.batch()
        assert bool(intake.batch(due_ms=0)) is idleness


def test_what_is_left_behind_is_told() -> None:
    intake = Intake(limit=10)
    intake.shelf.there = {"p0": FoundPartition(0), "p1": FoundPartition(0)}
    intake.batch()
    intake.shelf.far = {"p0": 2, "p1": 30}
    first, second = intake.batch()
    assert (first.lags, first.pending) == ({"p0": 0}, 22)
    assert (second.lags, second.pending) == ({"p1": 22}, 22)
    assert intake.list.is_limited(intake.start, intake.offset, 10)
    assert not intake.list.is_limited(intake.start, intake.offset, 11)


def test_a_resumed_job_goes_on_from_the_positions_and_stops_of_its_own_sources() -> None:
    intake = Intake(stops=True)
    old = {"positions": {"gone": [3]}, "partitions": {"u": {"p0": 2}, "v": {"q": 1}}, "stops": {"u": {"p0": 4}}}
    intake.offset = intake.list.resumed_offset(Offset.from_json(old))
    assert intake.offset.partitions == {"u": {"p0": 2}}
    intake.shelf.there = {"p0": FoundPartition(0, 100)}
    intake.shelf.far = {"p0": 100}
    assert intake.ranges() == {0: [("p0", 2, 4, True)], 1: []}
    assert intake.shelf.asked_with == []


def test_closing_lets_go_of_the_enumerator() -> None:
    intake = Intake()
    intake.batch()
    intake.list.close()
    assert intake.shelf.is_closed


def test_small_tasks_are_grouped_by_what_their_ranges_hold() -> None:
    small = SourceTask(1, 0, ranges=(PartitionRange("a", 0, 900), PartitionRange("b", 0, 900)))
    large = SourceTask(1, 1, ranges=(PartitionRange("c", 0, 1500), PartitionRange("d", 0, 1500)))
    assert grouped([small, large, small]) == [[large], [small], [small]]


LAGS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 200))


@given(LAGS, st.integers(1, 500))
def test_shares_are_fair(lags: dict[str, int], limit: int) -> None:
    stops = fair_stops(dict.fromkeys(lags, 0), lags, limit)
    assert all(0 <= stops[name] <= lag for name, lag in lags.items())
    assert all(stops[name] > 0 for name, lag in lags.items() if lag), "nobody is left out"
    taken = sum(stops.values())
    assert taken == min(limit, sum(lags.values())) or limit < len(lags)
    cut = [stops[name] for name, lag in lags.items() if stops[name] < lag]
    assert all(stop <= min(cut) + 1 for stop in stops.values()) if cut else True, "what is over goes to those with more"


def test_a_job_that_goes_on_with_stops_it_did_not_have_decides_them_then() -> None:
    intake = Intake(stops=True, parallelism=1)
    intake.offset = intake.list.resumed_offset(Offset.from_json({"partitions": {"u": {"p0": 2, "p1": 9}}}))
    intake.shelf.there = {"p0": FoundPartition(0, 4), "p1": FoundPartition(0, 7), "p2": FoundPartition(0, 3)}
    intake.shelf.far = {"p0": 100, "p1": 100}
    assert intake.ranges() == {0: [("p0", 2, 4, True), ("p1", 9, 9, True)]}
    intake.shelf.there["p0"] = FoundPartition(0, 50)
    assert intake.batch() == [], "decided once"


def test_such_a_job_can_be_drained_before_they_are_decided() -> None:
    intake = Intake(stops=True, parallelism=1)
    intake.offset = intake.list.resumed_offset(Offset.from_json({"partitions": {"u": {"p0": 2}}}))
    (task,) = intake.batch(is_draining=True)
    assert task.ends


def test_a_job_that_goes_on_without_its_stops_reads_on() -> None:
    intake = Intake(stops=False, parallelism=1)
    intake.offset = intake.list.resumed_offset(Offset(partitions={"u": {"p0": 4}}, stops={"u": {"p0": 4}}))
    intake.shelf.far = {"p0": 6}
    assert intake.ranges() == {0: [("p0", 4, 6, False)]}


class Apart(Library):
    """Each subtask knows its own partitions."""

    def reads_partitions_apart(self) -> bool:
        return True


def test_a_task_that_reads_by_itself_asks_for_its_own_partitions_only() -> None:
    shelf = Shelf()
    shelf.there = {name: FoundPartition(0) for name in ("p0", "p1", "p2")}
    shelf.far = {"p0": 5, "p1": 6, "p2": 7}
    library = Apart(shelf, stops=False)
    everything = SourceList({}, {}, 100, {"one": PartitionedVertex(0, "one", library, 2, has_idleness=False)})
    mine = everything.for_reader(1)
    start = mine.next_offset(Offset(), IntakeRequest(), now_ms=0, elapsed_ms=0)
    end = mine.next_offset(start, IntakeRequest(), now_ms=0, elapsed_ms=0)
    assert end.partitions == {"one": {"p0": 0, "p1": 6, "p2": 0}}
    assert shelf.is_hurried
    assert everything.for_reader(2).partitioned == {}, "no subtask of that number"
    assert everything.partitioned["one"].reader is None


def test_paused_partitions_wait_and_leave_their_share_to_others() -> None:
    intake = Intake(limit=10)
    intake.shelf.there = {"p0": FoundPartition(0), "p2": FoundPartition(0)}
    intake.shelf.far = {"p0": 100, "p2": 100}
    intake.batch()
    assert intake.ranges() == {0: [("p0", 0, 5, False), ("p2", 0, 5, False)]}
    (task,) = intake.batch(paused={"u": ["p0"]})
    assert [(each.name, each.start, each.stop) for each in task.ranges or ()] == [("p2", 5, 15)]
    assert task.paused == ("p0",)
    assert task.lags == {"p0": 95, "p2": 85}, "what waits is counted, whatever it waits for"
    assert intake.ranges() == {0: [("p0", 5, 10, False), ("p2", 15, 20, False)]}


def test_nobody_asks_how_far_a_paused_partition_goes_but_once() -> None:
    intake = Intake()
    intake.shelf.there = {"p0": FoundPartition(0), "p2": FoundPartition(0)}
    intake.shelf.far = {"p0": 100, "p2": 100}
    intake.batch()
    asked: list[list[str]] = []
    ends = intake.shelf.ends
    intake.shelf.ends = lambda positions: (asked.append(sorted(positions)), ends(positions))[1]  # type: ignore[func-returns-value, method-assign]
    intake.batch(paused={"u": ["p0"]})
    intake.batch(paused={"u": ["p0"]})
    intake.batch(paused={"u": ["p0", "p2"]})
    assert asked == [["p0", "p2"], ["p2"]]


def test_pausing_is_told_to_subtasks_whose_partitions_may_become_idle() -> None:
    for idleness in (False, True):
        intake = Intake(idleness=idleness)
        intake.shelf.there = {"p0": FoundPartition(0)}
        intake.batch()
        intake.batch()
        told = [(task.split, task.paused) for task in intake.batch(paused={"u": ["p0"]})]
        assert told == ([(0, ("p0",)), (1, ())] if idleness else [])
        assert [task.paused for task in intake.batch(paused={"u": ["p0"]})] == []
        assert [task.paused for task in intake.batch()] == ([(), ()] if idleness else [])


class LiveIntake:
    """A task of continuous mode: its reader knows what has been fetched."""

    def __init__(self, *, stops: bool = False) -> None:
        self.shelf = Shelf()
        self.fetched: dict[str, int] | None = {}
        self.asked: list[dict[str, int]] = []
        known = PartitionedVertex(4, "shelf", Library(self.shelf, stops=stops), 1, False, reader=0)
        known.arrived = self.arrived
        self.list = SourceList({}, {}, 1000, {"u": known})
        self.offset = self.list.first_offset()

    def arrived(self, positions: Mapping[str, int]) -> dict[str, int] | None:
        self.asked.append(dict(positions))
        return None if self.fetched is None else {name: self.fetched.get(name, at) for name, at in positions.items()}

    def poll(self, now_ms: int, **request: Any) -> tuple[dict[str, int], dict[str, int]]:
        """The positions that are come to, and the lags that are told."""
        start = self.offset
        self.offset = self.list.next_offset(start, IntakeRequest(**request), now_ms=now_ms, elapsed_ms=0)
        lags = [task.lags for task in self.list.tasks(start, self.offset)]
        return self.offset.partitions["u"], lags[0] if lags else {}


def test_a_task_that_reads_by_itself_takes_what_has_arrived_and_asks_for_ends_once_a_second() -> None:
    intake = LiveIntake()
    intake.shelf.there = {"p0": FoundPartition(5), "p1": FoundPartition(0)}
    intake.shelf.far = {"p0": 100, "p1": 3}
    intake.poll(1_000)
    assert intake.shelf.times_asked_for_ends == 0
    intake.fetched = {"p0": 9}
    assert intake.poll(1_010) == ({"p0": 9, "p1": 0}, {"p0": 91, "p1": 3})
    intake.fetched = {"p0": 12, "p1": 1}
    intake.shelf.far = {"p0": 200, "p1": 3}
    assert intake.poll(1_020) == ({"p0": 12, "p1": 1}, {"p0": 88, "p1": 2}), "the lag is that of the last question"
    assert intake.shelf.times_asked_for_ends == 1
    intake.fetched = {"p0": 13, "p1": 1}
    assert intake.poll(2_010) == ({"p0": 13, "p1": 1}, {"p0": 187, "p1": 2})
    assert intake.shelf.times_asked_for_ends == 2


def test_a_clock_that_was_set_back_does_not_stop_the_questions_for_ends() -> None:
    intake = LiveIntake()
    intake.shelf.there = {"p0": FoundPartition(0)}
    intake.poll(90_000)
    intake.poll(90_010)
    assert intake.shelf.times_asked_for_ends == 1
    intake.poll(20_000)
    assert intake.shelf.times_asked_for_ends == 2


def test_what_has_arrived_beyond_a_stop_or_in_a_paused_partition_is_not_read() -> None:
    intake = LiveIntake(stops=True)
    intake.shelf.there = {"p0": FoundPartition(0, 4), "p1": FoundPartition(0, 10)}
    intake.shelf.far = {"p0": 100, "p1": 100}
    intake.poll(0)
    intake.fetched = {"p0": 9, "p1": 9}
    assert intake.poll(5, paused={"u": ["p1"]})[0] == {"p0": 4, "p1": 0}
    assert intake.asked[-1] == {"p0": 0}, "a paused partition is not fetched"
    assert intake.poll(10)[0] == {"p0": 4, "p1": 9}
    assert intake.asked[-1] == {"p1": 0}, "one at its stop has nothing more to give"


def test_a_reader_that_does_not_know_leaves_it_to_the_enumerator() -> None:
    intake = LiveIntake()
    intake.shelf.there, intake.shelf.far = {"p0": FoundPartition(0)}, {"p0": 3}
    intake.fetched = None
    intake.poll(0)
    assert intake.poll(1)[0] == {"p0": 3}
    intake.shelf.far = {"p0": 5}
    assert intake.poll(2)[0] == {"p0": 5}, "it is asked each time again"
    assert len(intake.asked) == 1
