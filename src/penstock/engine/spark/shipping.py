"""The plan as it travels to Python workers: pickled once, unpickled once per worker process and subtask."""

from __future__ import annotations

import io
import pickle
import sys
import time
import uuid
from dataclasses import dataclass
from typing import Any

import cloudpickle

from penstock.errors import GraphError
from penstock.graph.plan import JobPlan, Vertex
from penstock.runtime.subtask import Subtask, TaskSettings


@dataclass(frozen=True)
class ShippedPlan:
    """Everything a task needs, as bytes. `key` is new for every start of the job."""

    key: str
    vertices: dict[int, bytes]
    settings: TaskSettings
    checkpoint_uri: str
    state_backend: str
    search_path: tuple[str, ...]
    main_classes: bytes


def ship(plan: JobPlan, settings: TaskSettings, checkpoint_uri: str, state_backend: str) -> ShippedPlan:
    """Pickle a plan; an operator that cannot be pickled is named."""
    return ShippedPlan(
        key=uuid.uuid4().hex,
        vertices={vertex.id: _pickled(vertex) for vertex in plan.vertices if not vertex.is_driver},
        settings=settings,
        checkpoint_uri=checkpoint_uri,
        state_backend=state_backend,
        search_path=tuple(entry for entry in sys.path if entry),
        main_classes=cloudpickle.dumps(_main_classes()),
    )


def check_picklable(plan: JobPlan) -> None:
    """Refuse a plan with an operator that cannot be sent to the workers."""
    for vertex in plan.vertices:
        if not vertex.is_driver:
            _pickled(vertex)


def _pickled(vertex: Vertex) -> bytes:
    try:
        return bytes(cloudpickle.dumps(vertex))
    except Exception as whole:
        for chained in vertex.operators:
            try:
                cloudpickle.dumps(chained.operator)
            except Exception as error:
                raise GraphError(
                    f"operator {chained.name!r} (uid {chained.uid!r}) cannot be sent to the workers: its function or "
                    f"something it refers to cannot be pickled ({error}); create such objects in open() instead"
                ) from None
        raise GraphError(f"vertex {vertex.name!r} cannot be sent to the workers: {whole}") from None


def _main_classes() -> dict[str, type]:
    """Classes of the user's script. Plain pickle finds them by name only, so workers must have them by name too."""
    main = sys.modules.get("__main__")
    classes: dict[str, type] = {}
    for name, value in list(vars(main).items()) if main is not None else []:
        if isinstance(value, type) and value.__module__ == "__main__" and _is_picklable(value):
            classes[name] = value
    return classes


def _is_picklable(value: Any) -> bool:
    try:
        cloudpickle.dump(value, io.BytesIO())
    except Exception:
        return False
    return True


_subtasks: dict[tuple[int, int], Subtask] = {}
_current_key = ""


def subtask_of(plan: ShippedPlan, vertex_id: int, subtask: int) -> Subtask:
    """This process's copy of a subtask, made when it is first needed."""
    _enter(plan)
    found = _subtasks.get((vertex_id, subtask))
    if found is None:
        vertex: Vertex = pickle.loads(plan.vertices[vertex_id])
        found = Subtask(vertex, subtask, plan.settings, clock_ms)
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
    sys.path.extend(entry for entry in plan.search_path if entry not in sys.path)
    main = sys.modules["__main__"]
    for name, value in pickle.loads(plan.main_classes).items():
        setattr(main, name, value)
    _current_key = plan.key


def clock_ms() -> int:
    """The wall clock of a task."""
    return time.time_ns() // 1_000_000
