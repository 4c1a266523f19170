"""Tasks of continuous mode: how many there are, and what they are called."""

from __future__ import annotations

from penstock.datastream import StreamExecutionEnvironment
from penstock.graph import JobSettings, compile_plan
from penstock.graph.plan import JobPlan
from penstock.job.continuous.floors import Floors


def plan() -> JobPlan:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(2)
    numbers = environment.from_collection(range(10)).name("numbers")
    doubled = numbers.key_by(lambda number: number).map(lambda number: number * 2).name("doubled")
    doubled.key_by(lambda number: number).map(str).name("texts").set_parallelism(3).print()
    return compile_plan(environment.graph, JobSettings(parallelism=2))


def test_all_tasks_run_at_the_same_time() -> None:
    floors = Floors.of(plan())
    assert [floors.width(floor) for floor in floors.numbers()] == [floors.source_tasks, 2, 3]
    assert floors.task_count == floors.source_tasks + 5


def test_names_are_those_of_the_first_floor_that_is_missing() -> None:
    made = plan()
    floors = Floors.of(made)
    assert floors.names(made, [(1, 1), (2, 0), (2, 2)]) == "'doubled', subtask 1"
    assert floors.names(made, [(2, 0), (2, 2)]) == "'texts', subtask 0, 2"
    assert floors.names(made, [(0, 0), (1, 0)]) == "'Source: numbers', subtask 0"
    assert floors.names(made, []) == "the driver"
