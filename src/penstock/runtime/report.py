"""What a subtask goes on from and what it reports at the end of a batch.

A subtask goes on from its keyed state, which is in files, and from a small record that is kept in the seal: the
watermarks of its channels, and what each of its operators carries from batch to batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.common.constants import MIN_WATERMARK
from penstock.common.plain_data import pack_record, unpack_record
from penstock.state.versions import EMPTY, StateVersion

Described = dict[str, dict[str, Any]]
"""By operator uid, as JSON-able data: what a reader from outside has to know of its keyed state.

`key` is the schema of its keys, if they have a type, and `key_class` the dataclass that they are of: module, name,
fields; `queryable` has its queryable names with their states; `ttl` the milliseconds that states live, if expired
values are never shown.
"""

BUSY, IDLE, BACKPRESSURED = "busy_ms", "idle_ms", "backpressured_ms"
"""Figures of the first operator of a vertex: how long the subtask worked; the others only in continuous mode."""
ALIGNMENT = "alignment_ms"
"""The same: how long the first barrier of the last version waited for the others."""

INLINE_VERSION = 1
"""Version of the record that is kept in the seal for a subtask."""


@dataclass(frozen=True)
class SubtaskEntry:
    """What a subtask of a vertex goes on from: its keyed state, and small things inline.

    `inline` holds the watermark valves and operator snapshots, see `encode_inline`; `deadline` is the processing time
    at which it wants a batch even without data.
    """

    state: StateVersion = EMPTY
    inline: bytes | None = None
    deadline: int | None = None
    watermark: int = MIN_WATERMARK
    has_ended: bool = False


@dataclass(frozen=True)
class Report:
    """What a subtask tells the driver at the end of a batch.

    `metrics` holds, by operator uid, what the batch added; `combined_by` names the figures that are not to be added to
    those of other batches and subtasks, with how they are combined ("min", "max", "last"). `pickled` names states of
    user functions that have no type, by operator uid; `described` says how its keyed states are read from outside;
    `likely_mistakes` are sentences about operators, by uid, that the user should read.
    """

    vertex_uid: str
    subtask: int
    entry: SubtaskEntry
    committables: dict[str, list[Any]]
    metrics: dict[str, dict[str, float]]
    combined_by: dict[str, dict[str, str]] = field(default_factory=dict)
    pickled: dict[str, list[str]] = field(default_factory=dict)
    described: Described = field(default_factory=dict)
    likely_mistakes: dict[str, list[str]] = field(default_factory=dict)


def encode_inline(
    *,
    operators: dict[str, Any],
    watermarks: dict[str, int],
    valves: list[Any] | None = None,
    schemas: dict[str, Any] | None = None,
    layouts: dict[str, Any] | None = None,
) -> bytes:
    """Return the record of a subtask: plain data, by operator uid.

    `operators` are their snapshots, `watermarks` how far event time got in each, `valves` the channels of the inputs
    (None: as at the very first), `schemas` and `layouts` what the rows of keyed state were written with.
    """
    record = {"valves": valves, "operators": operators, "watermarks": watermarks}
    return pack_record({**record, "schemas": schemas or {}, "layouts": layouts or {}}, INLINE_VERSION)


def decode_inline(inline: bytes | None) -> dict[str, Any]:
    """Return the record of a subtask as `encode_inline` was given it; an empty one if there is none."""
    if inline is None:
        return {"valves": None, "operators": {}, "watermarks": {}, "schemas": {}, "layouts": {}}
    record: dict[str, Any] = unpack_record(inline, INLINE_VERSION, "the record of a subtask in the seal")
    return record
