"""How many tasks a job has in continuous mode, and which vertices run in which of them.

All tasks run at the same time. Floor 0 has the sources; the others are the levels of the plan, see ARCHITECTURE.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.plan import JobPlan
from penstock.runtime.continuous.station import Place


@dataclass(frozen=True)
class Floor:
    """Tasks side by side: `width` of them, each with its subtask of every vertex that has one of that number."""

    parallelism: dict[int, int]
    width: int

    def vertices_of(self, number: int) -> list[int]:
        """The vertices that have a subtask in a task."""
        return [vertex for vertex, parallelism in self.parallelism.items() if number < parallelism]


@dataclass(frozen=True)
class Floors:
    """All tasks of a job."""

    source_tasks: int
    levels: tuple[Floor, ...]
    driver_vertices: frozenset[int]

    @classmethod
    def of(cls, plan: JobPlan) -> Floors:
        """The tasks of a plan."""
        sources = max(vertex.parallelism for vertex in plan.sources())
        levels = [{vertex.id: vertex.parallelism for vertex in vertices} for _, vertices in plan.levels()]
        on_driver = frozenset(vertex.id for vertex in plan.driver_vertices())
        return cls(sources, tuple(Floor(each, max(each.values())) for each in levels), on_driver)

    @property
    def task_count(self) -> int:
        """How many tasks run at the same time."""
        return self.source_tasks + sum(floor.width for floor in self.levels)

    def numbers(self) -> range:
        """The numbers of all floors."""
        return range(len(self.levels) + 1)

    def width(self, floor: int) -> int:
        """How many tasks a floor has: 0 is that of the sources; none above the last."""
        if floor == 0:
            return self.source_tasks
        return self.levels[floor - 1].width if floor <= len(self.levels) else 0

    def place(self, floor: int, number: int, version: int) -> Place:
        """Where a task is."""
        senders = 0 if floor == 0 else self.width(floor - 1)
        return Place(number, senders, self.width(floor + 1), version, self.driver_vertices)

    def names(self, plan: JobPlan, tasks: list[tuple[int, int]]) -> str:
        """What runs in some tasks, in words; only those of their first floor, for the others wait for them."""
        if not tasks:
            return "the driver"
        first = min(floor for floor, _ in tasks)
        numbers = [number for floor, number in tasks if floor == first]
        if first == 0:
            vertices = [vertex for vertex in plan.sources() if vertex.parallelism > numbers[0]]
        else:
            vertices = [plan.vertices[each] for each in self.levels[first - 1].vertices_of(numbers[0])]
        named = ", ".join(repr(vertex.name) for vertex in vertices)
        return f"{named}, subtask {', '.join(map(str, numbers))}"
