"""The seal of a version: one small file that says which state, source positions and sink output are final.

A batch is final at the moment its seal is in place, not before and not later. A task of version N reads the seal of
N-1 to know what to start from; a batch that finds its own seal was finished by a process that died, and only
has its sinks published again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.common.plain_data import UserValue, other_format, pack, unpack
from penstock.errors import CheckpointError
from penstock.runtime.report import Described, Report, SubtaskEntry, decode_inline, encode_inline
from penstock.runtime.source_tasks import Offset
from penstock.runtime.timestamps import slowest
from penstock.state.versions import EMPTY, StateFile, StateVersion

_MAGIC = b"PNSEAL"
SEAL_VERSION = b"02"
"""Stands behind the magic word. Version 01 was a pickle."""

Frames = dict[str, list[str | None]]
"""Offsets of sources that Spark reads, as Spark logged them: a frame may be made of several; None is the beginning."""


@dataclass
class Seal:
    """Everything that is final after a version.

    `offset` is where Penstock's own sources stand, None at the very first, `frames` what Spark logged of those that
    it reads, by operator uid. `owner` is the driver that made it final. `described` is for readers from outside.
    """

    version: int = -1
    entries: dict[tuple[str, int], SubtaskEntry] = field(default_factory=dict)
    committables: dict[str, list[Any]] = field(default_factory=dict)
    offset: Offset | None = None
    frames: Frames = field(default_factory=dict)
    owner: str = field(default="", compare=False)
    described: Described = field(default_factory=dict, compare=False)

    def entry(self, vertex_uid: str, subtask: int) -> SubtaskEntry:
        """What a subtask goes on from; empty at the very first."""
        return self.entries.get((vertex_uid, subtask), SubtaskEntry())

    def next_deadline(self) -> int | None:
        """The earliest processing time at which some subtask wants a batch."""
        deadlines = [e.deadline for e in self.entries.values() if e.deadline is not None and not e.has_ended]
        return min(deadlines, default=None)

    def followed_by(
        self,
        version: int,
        reports: Iterable[Report],
        ephemeral: set[str],
        offset: Offset | None = None,
        frames: Frames | None = None,
    ) -> Seal:
        """The seal of the next version: subtasks that did not run keep their entries.

        The subtasks of an ephemeral vertex have no identity of their own: their entries become one (subtask 0),
        that of the slowest.
        """
        seal = Seal(version, dict(self.entries), offset=offset, frames=frames or {}, described=dict(self.described))
        merged: dict[str, list[SubtaskEntry]] = {}
        for report in reports:
            if report.vertex_uid in ephemeral:
                merged.setdefault(report.vertex_uid, []).append(report.entry)
            else:
                seal.entries[report.vertex_uid, report.subtask] = report.entry
            seal.described.update(report.described)
            for uid, items in report.committables.items():
                seal.committables.setdefault(uid, []).extend(items)
        for uid, entries in merged.items():
            seal.entries[uid, 0] = merge_entries(entries)
        return seal


def merge_entries(entries: list[SubtaskEntry]) -> SubtaskEntry:
    """One entry for the subtasks of a source that Spark cuts anew in every batch."""
    inline = [decode_inline(entry.inline) for entry in entries if entry.inline is not None]
    states: dict[str, Any] = {}
    for uid in dict.fromkeys(uid for item in inline for uid in item["operators"]):
        known = [item["operators"][uid] for item in inline if item["operators"].get(uid) is not None]
        states[uid] = slowest(known) if known else None
    watermarks = {uid: min(item["watermarks"][uid] for item in inline) for uid in states}
    deadlines = [entry.deadline for entry in entries if entry.deadline is not None]
    return SubtaskEntry(
        state=EMPTY,
        inline=encode_inline(operators=states, watermarks=watermarks),
        deadline=max(deadlines, default=None),
        watermark=min(entry.watermark for entry in entries),
        has_ended=any(entry.has_ended for entry in entries),
    )


def encode_seal(seal: Seal) -> bytes:
    """Bytes of a seal: plain data (`penstock.common.plain_data`), compressed, with a checksum."""
    plain = pack(
        {
            "version": seal.version,
            "entries": [[uid, subtask, *_entry_to_plain(entry)] for (uid, subtask), entry in seal.entries.items()],
            # Sinks of the user's hand over what they like.
            "committables": {uid: [*map(UserValue, items)] for uid, items in seal.committables.items()},
            "offset": {} if seal.offset is None else seal.offset.to_json(),
            "frames": seal.frames,
            "owner": seal.owner,
            **({"described": seal.described} if seal.described else {}),
        }
    )
    body = pa.compress(plain, codec="zstd", asbytes=True)
    content = len(plain).to_bytes(8, "big") + body
    return bytes(_MAGIC + SEAL_VERSION + zlib.crc32(content).to_bytes(4, "big") + content)


_MOST_COMPRESSED = 50_000
"""No more bytes than this become one by zstd."""


def decode_seal(data: bytes, path: str) -> Seal:
    """The seal in some bytes; anything but a whole seal is refused.

    Committables that are objects of the user's are `UserPickle` in it: whoever publishes them loads them.
    """
    if data[:6] == _MAGIC and len(data) >= 8 and data[6:8] != SEAL_VERSION:
        raise CheckpointError(other_format(path, data[6:8].decode("ascii", "replace"), SEAL_VERSION.decode()))
    content = data[12:]
    if len(data) < 20 or data[:6] != _MAGIC or zlib.crc32(content) != int.from_bytes(data[8:12], "big"):
        raise CheckpointError(f"{path} is damaged or truncated: its checksum does not match")
    plain = unpack(_inflated(content[8:], int.from_bytes(content[:8], "big"), path))
    entries = {(uid, subtask): _entry_from_plain(*rest) for uid, subtask, *rest in plain["entries"]}
    stood = (_offset(plain["offset"]), plain["frames"], plain["owner"])
    # Seals of earlier releases describe nothing.
    return Seal(plain["version"], entries, plain["committables"], *stood, plain.get("described", {}))


def _inflated(body: bytes, size: int, path: str) -> bytes:
    """Return the content of a seal; what takes no such size, or more than there can be in it, is damaged."""
    if size > len(body) * _MOST_COMPRESSED:
        raise CheckpointError(f"{path} is damaged: it claims to hold {size} bytes in {len(body)}")
    try:
        return bytes(pa.decompress(body, size, codec="zstd", asbytes=True))
    except (OSError, pa.ArrowException, MemoryError):
        raise CheckpointError(f"{path} is damaged: it cannot be decompressed") from None


def _entry_to_plain(entry: SubtaskEntry) -> list[Any]:
    files = [[file.name, file.is_snapshot, file.bytes, file.entries] for file in entry.state.files]
    return [entry.state.id, files, entry.inline, entry.deadline, entry.watermark, entry.has_ended]


def _entry_from_plain(state_id: str, files: list[Any], *rest: Any) -> SubtaskEntry:
    return SubtaskEntry(StateVersion(state_id, tuple(StateFile(*file) for file in files)), *rest)


def _offset(plain: dict[str, Any]) -> Offset | None:
    """Nothing stands for the beginning of the job."""
    return Offset.from_json(plain) if plain else None
