"""Values of a state as bytes, for operators that work on many keys at once and keep no object for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.keys.code_columns import codes_of_columns
from penstock.keys.group_columns import groups_of_columns

if TYPE_CHECKING:
    from penstock.state.keyed import KeyedStateBackend
    from penstock.state.value_states import SingleObjectState


class EncodedValues:
    """What the keys of a state without namespace have, by the rows of the store.

    What is held is written with the rest of the batch. The state's own objects and these bytes do not know of each
    other: `read` writes the objects before, and whoever goes back to the objects has to `settle` these first.
    """

    def __init__(self, backend: KeyedStateBackend, state: SingleObjectState) -> None:
        self._backend = backend
        self._state = state
        self._held: dict[bytes, bytes] = {}
        self._may_be_stored: bool | None = None
        backend.attach(self)

    def rows_of(self, parts: Sequence[Any], *, is_tuple: bool) -> list[bytes]:
        """The rows of keys; a part of them is an array of int64 or a column of Arrow. There is no current key."""
        self._backend.make_room()
        if self._may_be_stored is None:
            self._may_be_stored = self._backend.has_stored(self._state.name)
        codes = codes_of_columns(parts, is_tuple=is_tuple)
        limit = self._backend.max_parallelism
        groups = groups_of_columns(parts, is_tuple=is_tuple, max_parallelism=limit, codes=codes).tolist()
        head, state_id, tail = self._backend.row_frame(self._state.name)
        before = {group: head + group.to_bytes(2, "big") + state_id for group in set(groups)}
        return [before[group] + code + tail for group, code in zip(groups, codes, strict=True)]

    def read(self, rows: list[bytes]) -> list[bytes | None]:
        """What rows hold; None where there is nothing."""
        if self._state.has_objects:
            self._backend.flush()
        held = self._held
        if not self._may_be_stored:  # the first batch of all: there is nothing to look for
            return [held.get(row) for row in rows] if held else [None] * len(rows)
        get = self._backend.store.get
        return [held[row] if row in held else get(row) for row in rows]

    def values_of(self, data: list[bytes | None]) -> list[Any]:
        """The objects of what rows hold."""
        loaded = self._state.loaded
        return [None if each is None else loaded(each) for each in data]

    def hold(self, rows: list[bytes], data: list[bytes]) -> None:
        """Let rows hold these bytes."""
        before = len(self._held)
        self._held.update(zip(rows, data, strict=True))
        self._backend.cached += len(self._held) - before

    def settle(self) -> None:
        """Write what is held, so that the state's objects can be asked for."""
        if self._held:
            self._backend.flush()
        self._may_be_stored = True

    # What the backend asks of all that it keeps

    def bind(self) -> None:
        """Start on another store."""
        self._may_be_stored = None

    def write(self) -> None:
        """Write what is held."""
        if self._held:
            self._may_be_stored = True
            # In the order of the blocks that they came in, most of which are in the order of keys: rows that lie far
            # apart would cost the store twice as much.
            self._backend.store.put_many(list(self._held.items()))
            self._held.clear()

    def forget(self) -> None:
        """Drop what is held."""
        self._held.clear()
