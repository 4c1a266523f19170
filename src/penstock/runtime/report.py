"""What a subtask goes on from and what it reports at the end of a batch: plain data, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.common.constants import MIN_WATERMARK
from penstock.state.versions import EMPTY, StateVersion


@dataclass(frozen=True)
class SubtaskEntry:
    """What a subtask of a vertex goes on from: its keyed state, and small things inline.

    `inline` holds the pickled watermark valves and operator snapshots; `deadline` is the processing time at
    which it wants a batch even without data.
    """

    state: StateVersion = EMPTY
    inline: bytes | None = None
    deadline: int | None = None
    watermark: int = MIN_WATERMARK
    has_ended: bool = False


@dataclass(frozen=True)
class Report:
    """What a subtask tells the driver at the end of a batch.

    `metrics` holds, by operator uid, what the batch added; `ways` names the figures that are not to be added to
    those of other batches and subtasks, with how they are combined ("min", "max", "last"). `pickled` names states of
    user functions that have no type, by operator uid.
    """

    vertex_uid: str
    subtask: int
    entry: SubtaskEntry
    committables: dict[str, list[Any]]
    metrics: dict[str, dict[str, float]]
    ways: dict[str, dict[str, str]] = field(default_factory=dict)
    pickled: dict[str, list[str]] = field(default_factory=dict)
