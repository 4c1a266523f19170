"""The context of an operator: its identity, state, timers, clock and metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.common.own_copies import itself, own_copies, own_copy
from penstock.common.secret_references import resolved
from penstock.connectors.sink import Hold
from penstock.errors import StateError
from penstock.metrics import MetricGroup
from penstock.runtime.calls import CallRunners
from penstock.state.keyed import KeyedStateBackend
from penstock.state.timers import InternalTimers
from penstock.vocabulary.functions import RuntimeContext


@dataclass
class OperatorContext:
    """The surroundings of one operator in one subtask. `user_states` are the keyed states that user code asked for."""

    job_id: str
    name: str
    uid: str
    subtask: int
    parallelism: int
    max_parallelism: int
    attempt: int
    clock: Callable[[], int]
    started_ms: int = 0
    job_parameters: dict[str, str] = field(default_factory=dict)
    watermark_every_records: int = 50_000
    is_batch_mode: bool = False
    backend: KeyedStateBackend | None = None
    timers: InternalTimers | None = None
    metrics: MetricGroup = field(default_factory=MetricGroup)
    calls: CallRunners | None = None
    staging: str = ""
    shares_objects: bool = False
    is_endless: bool = False
    hold: Hold = field(default_factory=Hold)
    user_states: set[str] = field(default_factory=set)
    offer_watermark: Callable[[int], None] | None = None
    """Hands a watermark to the source at the head of the vertex, if it is made for that."""

    @property
    def own(self) -> Callable[[Any], Any]:
        """What makes of an object that user code may still change one that nobody else can."""
        return itself if self.shares_objects else own_copy

    @property
    def own_all(self) -> Callable[[list[Any]], list[Any]]:
        """The same for a list of objects."""
        return itself if self.shares_objects else own_copies


class OperatorRuntimeContext(RuntimeContext):
    """What user functions see in `open()`."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context

    def get_task_name(self) -> str:
        """Name of the operator."""
        return self._context.name

    def get_number_of_parallel_subtasks(self) -> int:
        """Parallelism of the operator."""
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Max parallelism of the operator."""
        return self._context.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Number of this subtask, from 0."""
        return self._context.subtask

    def get_attempt_number(self) -> int:
        """How often the job was restarted."""
        return self._context.attempt

    def get_task_name_with_subtasks(self) -> str:
        """Name with the subtask as Flink prints it, counted from 1."""
        return f"{self._context.name} ({self._context.subtask + 1}/{self._context.parallelism})"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter."""
        return resolved(self._context.job_parameters.get(key, default_value), f"job parameter {key!r}")

    def get_metrics_group(self) -> MetricGroup:
        """Where the user's own metrics are registered."""
        return self._context.metrics

    def get_state(self, state_descriptor: Any) -> Any:
        """A value state of the current key."""
        return self._keyed(state_descriptor).get_value_state(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        """A list state of the current key."""
        return self._keyed(state_descriptor).get_list_state(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        """A map state of the current key."""
        return self._keyed(state_descriptor).get_map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        """A reducing state of the current key."""
        return self._keyed(state_descriptor).get_reducing_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        """An aggregating state of the current key."""
        return self._keyed(state_descriptor).get_aggregating_state(state_descriptor)

    def _keyed(self, descriptor: Any) -> KeyedStateBackend:
        if self._context.backend is None:
            raise StateError(
                f"operator {self._context.name!r} asks for keyed state {descriptor.get_name()!r}, but its stream is "
                "not keyed: call key_by(...) before it"
            )
        self._context.user_states.add(descriptor.get_name())
        return self._context.backend
