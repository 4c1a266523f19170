"""Collections of worker processes: what survived a slow one is frozen, and let go again in its time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import count

import pytest

from penstock.engine.spark.startup import worker_garbage
from penstock.engine.spark.startup.worker_garbage import WorkerGarbage

FULL, YOUNG = {"generation": 2}, {"generation": 0}


class Clock:
    """Time that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(worker_garbage, "time", made)
    return made


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def collected(garbage: WorkerGarbage, clock: Clock, seconds: float, info: dict[str, int] = FULL) -> None:
    garbage.on_collection("start", info)
    clock.now += seconds
    garbage.on_collection("stop", info)


def test_what_survived_a_slow_collection_is_frozen_by_the_next_task(clock: Clock) -> None:
    garbage = WorkerGarbage()
    collected(garbage, clock, 0.05)
    garbage.on_task()
    assert gc.get_freeze_count() > 1_000


@pytest.mark.parametrize(("seconds", "info"), [(0.001, FULL), (0.05, YOUNG)], ids=["quick", "young objects only"])
def test_other_collections_freeze_nothing(clock: Clock, seconds: float, info: dict[str, int]) -> None:
    garbage = WorkerGarbage()
    collected(garbage, clock, seconds, info)
    garbage.on_task()
    assert gc.get_freeze_count() == 0


def test_a_slow_collection_freezes_once(clock: Clock) -> None:
    garbage = WorkerGarbage()
    collected(garbage, clock, 0.05)
    for _ in range(3):
        garbage.on_task()
    assert garbage.freezes == 1


def test_frozen_objects_are_let_go_after_a_while_and_frozen_again_when_they_make_it_slow(clock: Clock) -> None:
    garbage = WorkerGarbage()
    collected(garbage, clock, 0.05)
    garbage.on_task()
    clock.now += 601
    garbage.on_task()
    assert gc.get_freeze_count() == 0
    collected(garbage, clock, 0.05)
    garbage.on_task()
    assert gc.get_freeze_count() > 1_000


def test_a_cycle_that_became_garbage_while_frozen_goes_in_the_end(clock: Clock) -> None:
    gone = count()

    class Node:
        def __del__(self) -> None:
            next(gone)

    garbage = WorkerGarbage()
    node = Node()
    node.itself = node  # type: ignore[attr-defined]
    collected(garbage, clock, 0.05)
    garbage.on_task()
    del node
    gc.collect()
    assert next(gone) == 0
    clock.now += 601
    garbage.on_task()
    gc.collect()
    assert next(gone) == 2


def test_a_process_watches_its_collections_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_garbage, "_garbage", None)
    before, threshold = list(gc.callbacks), gc.get_threshold()
    try:
        worker_garbage.keep_collections_short()
        gc.set_threshold(60_000)  # what a function of the user's sets stays
        worker_garbage.keep_collections_short()
        assert len(gc.callbacks) == len(before) + 1
        assert gc.get_threshold()[0] == 60_000
    finally:
        gc.callbacks[:] = before
        gc.set_threshold(*threshold)


def test_a_block_of_records_does_not_set_off_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_garbage, "_garbage", None)
    before, threshold = list(gc.callbacks), gc.get_threshold()
    seen: list[int] = []
    try:
        worker_garbage.keep_collections_short()
        gc.collect()
        gc.callbacks.append(lambda phase, info: seen.append(info["generation"]))
        block = [[number] for number in range(8_192)]
        assert len(block) == 8_192 and seen == []
    finally:
        gc.callbacks[:] = before
        gc.set_threshold(*threshold)
