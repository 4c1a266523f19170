"""List state: appended without reading, one row for each batch that appended."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.state.serializers import StateSerializer
from penstock.state.ttl import FIRST_UNSTAMPED, list_without_stamps

if TYPE_CHECKING:
    from penstock.state.keyed import KeyedStateBackend

# Reading more rows than this costs more than writing them once as one row.
_MAX_ROWS = 16


class ListRow:
    """A row that was read: where it is, its bytes as stored, its elements."""

    __slots__ = ("data", "items", "row")

    def __init__(self, row: bytes, data: bytes, items: list[Any]) -> None:
        """Take a row as it was read or written."""
        self.row = row
        self.data = data
        self.items = items


class CachedList:
    """One cached list: rows if they were read, elements not written yet, whether stored rows are to be removed."""

    __slots__ = ("is_replaced", "pending", "rows")

    def __init__(self) -> None:
        """Know nothing of the store yet."""
        self.rows: list[ListRow] | None = None
        self.pending: list[Any] = []
        self.is_replaced = False

    def replace(self, items: list[Any]) -> None:
        """Let these be all elements, whatever is stored."""
        self.rows = []
        self.pending = items
        self.is_replaced = True


class KeyedListState:
    """Keyed `ListState`; elements are copied on their way in and out, except by `hold`, `hold_all` and `held`."""

    kind: ClassVar[str] = "list"

    def __init__(self, backend: KeyedStateBackend, name: str, serializer: StateSerializer) -> None:
        """Make the state `name` of a backend; the serializer is that of a list of elements."""
        self._backend = backend
        self.name = name
        self._dumps, self._loads = serializer.dumps, serializer.loads
        self._lists: dict[Hashable, CachedList] = {}
        self._own, self._own_all = backend.own, backend.own_all

    def add(self, value: Any) -> None:
        """Append one element to the current key's list."""
        self.hold(self._own(value))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append several elements to the current key's list."""
        self.hold_all(self._own_all(list(values)))

    def update(self, values: Iterable[Any]) -> None:
        """Replace the current key's list; an empty one clears it."""
        self.replace(self._own_all(list(values)))

    def hold(self, value: Any) -> None:
        """Append an element itself: it must be nobody else's from now on."""
        self._current().pending.append(value)
        self._backend.cached += 1

    def hold_all(self, values: Iterable[Any]) -> None:
        """Append elements themselves."""
        items = list(values)
        self._current().pending.extend(items)
        self._backend.cached += len(items)

    def hold_encoded(self, data: bytes) -> None:
        """Append elements to the current key's list, given as the bytes of a list of them."""
        address = self._backend.address
        if address in self._lists:  # elements of the same key wait already, or were read
            self.hold_all(self._loads(data))
            return
        self._backend.check_key(self.name)
        self._put_row(address, data)

    def replace(self, items: list[Any]) -> None:
        """Replace the current key's list by elements themselves."""
        self._current().replace(items)
        self._backend.cached += len(items)

    def clear(self) -> None:
        """Remove the current key's list."""
        self._current().replace([])

    def get(self) -> list[Any]:
        """Return the elements of the current key, in a list of its own."""
        return self._own_all(self.held())

    def held(self) -> list[Any]:
        """Return the state's own elements of the current key; they must not be changed as long as they are."""
        found = self._current()
        if found.rows is None:
            found.rows = self._read(self._backend.address)
        result: list[Any] = []
        for row in found.rows:
            result.extend(row.items)
        result.extend(found.pending)
        return result

    def take(self) -> list[Any]:
        """Remove and return the elements of the current key."""
        items = self.held()
        self.clear()
        return items

    def merge_taken(self, items: list[Any]) -> None:
        """Append what `take` gave in another namespace."""
        if items:
            self.hold_all(items)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the elements of the current key."""
        return iter(self.get())

    def bind(self) -> None:
        """Start on another store: nothing is cached at that point."""

    def write(self) -> None:
        """Write what was appended or replaced."""
        for address, found in self._lists.items():
            if found.is_replaced:
                self._remove_rows(address)
                found.is_replaced = False
            if found.pending:
                row = self._append_row(address, found.pending)
                if found.rows is not None:
                    found.rows.append(row)
                found.pending = []

    def forget(self) -> None:
        """Drop the cached lists."""
        self._lists.clear()

    def _current(self) -> CachedList:
        address = self._backend.address
        found = self._lists.get(address)
        if found is None:
            self._backend.check_key(self.name)
            found = self._lists[address] = CachedList()
            self._backend.cached += 1
        return found

    def _read(self, address: Hashable) -> list[ListRow]:
        rows = []
        for row, data in self._backend.store.scan(self._backend.row(address, self.name)):
            items = self._decode(data)
            rows.append(ListRow(row, data, items))
            self._backend.cached += len(items)
        if len(rows) <= _MAX_ROWS:
            return rows
        self._remove_rows(address)
        return [self._append_row(address, [item for row in rows for item in row.items])]

    def _remove_rows(self, address: Hashable) -> None:
        store = self._backend.store
        for row, _ in store.scan(self._backend.row(address, self.name)):
            store.delete(row)

    def _append_row(self, address: Hashable, items: list[Any]) -> ListRow:
        data = self._encode(items)
        return ListRow(self._put_row(address, data), data, items)

    def _put_row(self, address: Hashable, data: bytes) -> bytes:
        row = self._backend.row(address, self.name) + self._backend.next_list_suffix()
        self._backend.store.put(row, data)
        return row

    def _decode(self, data: bytes) -> list[Any]:
        items: list[Any] = self._loads(data if data[0] >= FIRST_UNSTAMPED else list_without_stamps(data))
        return items

    def _encode(self, items: list[Any]) -> bytes:
        return self._dumps(items)
