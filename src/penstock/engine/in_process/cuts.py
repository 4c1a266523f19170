"""Where a batch of a seeded run ends: at random, between two offsets."""

from __future__ import annotations

import random
from dataclasses import replace

from penstock.runtime.source_tasks import Offset

_LARGEST_CUT = 7


def cut_at_random(start: Offset, end: Offset, chance: random.Random) -> Offset:
    """An offset on the way from one to the other: each split and partition goes some steps at most."""

    def some(first: int, last: int) -> int:
        return min(last, first + chance.randint(0, _LARGEST_CUT))

    positions = {
        uid: [some(first, last) for first, last in zip(start.positions[uid], each, strict=True)]
        for uid, each in end.positions.items()
    }
    before = start.partitions
    partitions = {
        uid: {name: some(before.get(uid, {}).get(name, last), last) for name, last in each.items()}
        for uid, each in end.partitions.items()
    }
    return replace(end, positions=positions, partitions=partitions)
