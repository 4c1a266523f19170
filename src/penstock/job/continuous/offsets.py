"""Where the sources of a job stand, put together from what each of their tasks has read."""

from __future__ import annotations

from penstock.job.intake import SourceList
from penstock.runtime.source_tasks import Offset


def merged_offset(parts: list[Offset], sources: SourceList) -> Offset:
    """One offset from those of tasks 0, 1, ...: of each split and partition, what its own task says."""
    positions = {
        uid: [parts[split].positions[uid][split] for split in range(known.split_count)]
        for uid, known in sources.splits.items()
    }
    return Offset(
        begun=any(part.begun for part in parts),
        tick=max(part.tick for part in parts),
        draining=all(part.draining for part in parts),
        positions=positions,
        partitions=_owned([part.partitions for part in parts], sources),
        stops=_owned([part.stops for part in parts], sources),
        complete=tuple(
            uid
            for uid in parts[0].complete
            if all(uid in part.complete for part in parts[: sources.partitioned[uid].parallelism])
        ),
    )


def _owned(parts: list[dict[str, dict[str, int]]], sources: SourceList) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for uid, known in sources.partitioned.items():
        for number, part in enumerate(parts[: known.parallelism]):
            if uid in part:
                mine = {
                    name: at for name, at in part[uid].items() if known.source.owner(name, known.parallelism) == number
                }
                found.setdefault(uid, {}).update(mine)
    return found
