"""What is in a savepoint, as data: operators, source positions, files."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.plain_data import other_format
from penstock.errors import CheckpointError
from penstock.runtime.layouts import Layout
from penstock.runtime.source_tasks import Offset
from penstock.state.declarations import SchemasByRole

FORMAT = 3
"""What is written. Formats 1 and 2 had pickled operator state, and are not read any more."""

MANIFEST = "savepoint.json"


@dataclass(frozen=True)
class FileRecord:
    """Size and CRC-32 of a file."""

    bytes: int
    crc32: int


@dataclass(frozen=True)
class OperatorRecord:
    """What is kept of an operator.

    `is_bound` tells that its vertex has keyed state, whose number of key groups cannot change. `watermarks` are those
    of its subtasks, in order. `states` are keyed states by name with their kinds, timers among
    them; `operator_states` those that belong to no key. `output` names the place of each file that a sink had begun
    but not finished. `schemas` has, for each keyed state with a type, the schemas that its rows may have, by role:
    those of its values and, of a map, of its keys (`penstock.state.serializers`). `layouts` are those of its subtasks,
    each once (`penstock.runtime.layouts`); a subtask that has not run since the settings changed has the old one.
    """

    name: str
    kind: str
    parallelism: int
    max_parallelism: int
    is_bound: bool
    watermarks: list[int] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    operator_states: dict[str, str] = field(default_factory=dict)
    output: list[str] = field(default_factory=list)
    schemas: dict[str, SchemasByRole] = field(default_factory=dict)
    layouts: list[Layout] = field(default_factory=list)

    def watermark_of(self, subtask: int, parallelism: int) -> int:
        """Where event time goes on: where the subtask was, or the slowest of all if there are more or fewer now.

        The end of time does not last: sources that are at their end say so again, others have more to give.
        """
        if not self.watermarks:
            return MIN_WATERMARK
        found = self.watermarks[subtask] if parallelism == self.parallelism else min(self.watermarks)
        return MIN_WATERMARK if found == MAX_WATERMARK else found

    def slowest(self) -> int:
        """The subtask whose event time is furthest behind."""
        return self.watermarks.index(min(self.watermarks))


@dataclass(frozen=True)
class Manifest:
    """The contents of a savepoint, or of a checkpoint that is used as one.

    `positions` are those of Penstock's own sources by operator uid, `partitions` and `stops` those of sources that read
    named partitions, see `penstock.job.intake`; `frames` has, for each source that Spark reads, the
    offsets that Spark logged. `files` go by their path in the savepoint.
    """

    job_name: str
    job_id: str
    version: int
    time_ms: int
    penstock_version: str
    operators: dict[str, OperatorRecord]
    positions: dict[str, list[int]]
    frames: dict[str, list[str | None]]
    files: dict[str, FileRecord] = field(default_factory=dict)
    partitions: dict[str, dict[str, int]] = field(default_factory=dict)
    stops: dict[str, dict[str, int]] = field(default_factory=dict)

    def offset(self) -> Offset:
        """Where Penstock's own sources stood."""
        return Offset(positions=self.positions, partitions=self.partitions, stops=self.stops)

    def to_json(self) -> str:
        """As text."""
        plain = asdict(self)
        return json.dumps({"format": FORMAT, **plain}, indent=1)

    @classmethod
    def from_json(cls, text: str | bytes, place: str) -> Manifest:
        """From text; anything else is refused."""
        try:
            plain: dict[str, Any] = json.loads(text)
            found = plain.pop("format")
            if found != FORMAT:
                raise CheckpointError(other_format(f"savepoint {place}", found, FORMAT))
            operators = {uid: OperatorRecord(**each) for uid, each in plain.pop("operators").items()}
            files = {path: FileRecord(**each) for path, each in plain.pop("files").items()}
            return cls(operators=operators, files=files, **plain)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CheckpointError(f"{place}/{MANIFEST} is damaged: it does not describe a savepoint") from None
