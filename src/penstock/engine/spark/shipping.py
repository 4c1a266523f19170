"""The plan as it travels to Python workers: pickled once, unpickled once per worker process and subtask."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import cloudpickle
from pyspark import SparkFiles

from penstock.asynchronous import LoopCallRunner
from penstock.engine.spark.control import clock_ms, read_clock
from penstock.engine.spark.program_imports import ProgramImports
from penstock.errors import GraphError
from penstock.graph.declared_settings import MAX_PLAN_BYTES
from penstock.graph.plan import JobPlan, Vertex
from penstock.runtime.pickling import pickled_vertex
from penstock.runtime.subtask import Subtask, TaskSettings

_MB = 1024 * 1024


@dataclass(frozen=True)
class ShippedPlan:
    """Everything a task needs, as bytes. `key` is new for every start of the job."""

    key: str
    vertices: dict[int, bytes]
    settings: TaskSettings
    checkpoint_uri: str
    state_backend: str
    state_directory: str | None
    clock_file: str | None
    imports: ProgramImports
    has_archives: bool = False


def ship(
    plan: JobPlan,
    settings: TaskSettings,
    checkpoint_uri: str,
    state_backend: str,
    clock_file: str | None,
    state_directory: str | None = None,
    *,
    has_archives: bool = False,
) -> ShippedPlan:
    """Pickle a plan; an operator that cannot be pickled is named."""
    return ShippedPlan(
        key=uuid.uuid4().hex,
        vertices={vertex.id: pickled_vertex(vertex) for vertex in plan.vertices if not vertex.is_driver},
        settings=settings,
        checkpoint_uri=checkpoint_uri,
        state_backend=state_backend,
        state_directory=state_directory,
        clock_file=clock_file,
        imports=ProgramImports.of_this_process(),
        has_archives=has_archives,
    )


def check_picklable(plan: JobPlan, max_bytes: int) -> None:
    """Refuse a plan with an operator that cannot be sent to the workers, or that is too large for it."""
    sizes = {vertex.id: len(pickled_vertex(vertex)) for vertex in plan.vertices if not vertex.is_driver}
    if sum(sizes.values()) > max_bytes:
        raise _too_large(plan.vertex(max(sizes, key=lambda vertex: sizes[vertex])), sum(sizes.values()), max_bytes)


def _too_large(vertex: Vertex, total: int, max_bytes: int) -> GraphError:
    """Java holds the plan several times, and dies if its memory is too small: that must not be found out by trying."""
    largest = max(vertex.operators, key=lambda chained: len(cloudpickle.dumps(chained.operator)))
    size = len(cloudpickle.dumps(largest.operator))
    return GraphError(
        f"operator {largest.name!r} (uid {largest.uid!r}) refers to {size / _MB:,.0f} MB of data, and all functions of "
        f"the job to {total / _MB:,.0f} MB in all, which every worker would get; {max_bytes / _MB:,.0f} MB are allowed "
        f"({MAX_PLAN_BYTES}). Load large objects in open(), or read them by a source; or raise the setting, and "
        "spark.driver.memory with it"
    )


_subtasks: dict[tuple[int, int], Subtask] = {}
_current_key = ""
_working_directory = os.getcwd()


def subtask_of(plan: ShippedPlan, vertex_id: int, subtask: int) -> Subtask:
    """This process's copy of a subtask, made when it is first needed."""
    _enter(plan)
    found = _subtasks.get((vertex_id, subtask))
    if found is None:
        vertex: Vertex = pickle.loads(plan.vertices[vertex_id])
        found = Subtask(vertex, subtask, plan.settings, clock_of(plan), LoopCallRunner)
        _subtasks[vertex_id, subtask] = found
    return found


def forget(vertex_id: int, subtask: int) -> None:
    """Drop a subtask that failed or ended; the next batch gets a fresh one."""
    _subtasks.pop((vertex_id, subtask), None)


def _enter(plan: ShippedPlan) -> None:
    """Make the process fit for a plan; subtasks of an earlier start of the job are of no use any more."""
    global _current_key
    if plan.key == _current_key:
        return
    _subtasks.clear()
    plan.imports.install()
    # As in PyFlink, functions open files of an archive by a relative path. In local mode Spark unpacks archives into a
    # folder of its own; and worker processes serve one job after the other.
    os.chdir(SparkFiles.getRootDirectory() if plan.has_archives else _working_directory)
    _current_key = plan.key


def clock_of(plan: ShippedPlan) -> Callable[[], int]:
    """The clock of a task: the machine's, or the file that a scripted source sets."""
    return clock_ms if plan.clock_file is None else partial(read_clock, plan.clock_file)
