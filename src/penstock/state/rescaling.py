"""State rows dealt out anew when the parallelism changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.keys.groups import group_range

_META, _KEYED, _TIMER = 0, 1, 2
# Where the key group stands in a row; see `penstock.state.keyed` and `penstock.state.timers`.
_GROUP_AT = {_KEYED: 3, _TIMER: 12}

Entry = tuple[bytes, bytes]


def key_group_of(row: bytes) -> int | None:
    """The key group a row belongs to; None for rows about the operator itself, which every subtask has."""
    start = _GROUP_AT.get(row[0])
    return None if start is None else int.from_bytes(row[start : start + 2], "big")


def rows_of_subtask(entries: Iterable[Entry], subtask: int, parallelism: int, max_parallelism: int) -> Iterator[Entry]:
    """Of all rows of an operator, from whatever subtasks they were, those that one subtask of the new ones owns."""
    groups = group_range(subtask, parallelism, max_parallelism)
    for row, value in entries:
        group = key_group_of(row)
        if group is None or group in groups:
            yield row, value
