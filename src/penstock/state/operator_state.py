"""State of a subtask that belongs to no key: lists, union lists and broadcast maps; how they are dealt out anew.

The runtime stores the bytes and calls the functions that use the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from penstock.common.own_copies import ATOMS, itself, own_copies, own_copy
from penstock.common.typeinfo import MapTypeInfo, TypeInformation
from penstock.errors import StateError
from penstock.state.serializers import Schema, StateSerializer, serializer_for
from penstock.state.serializers.fitting import fit_for

LIST, UNION, BROADCAST = "list", "union list", "broadcast"

Saved = dict[str, tuple[str, Any]]
"""States of one subtask as bytes, by name: kind, and a list of encoded elements or one encoded map."""

Schemas = dict[str, list[Schema]]
"""The schemas that bytes of a state may have, by its name; those of a state that is only pickled lack."""


class OperatorListState:
    """A list of a subtask; `kind` says how it is dealt out when the parallelism changes.

    Each element is encoded by itself, so that elements can be dealt out without loading the user's classes. Elements
    that can be changed are copied on their way in and out, so that those encoded once stay as they are.
    """

    def __init__(self, name: str, kind: str, serializer: StateSerializer, *, shares_objects: bool = False) -> None:
        """Make an empty list."""
        self.name = name
        self.kind = kind
        self.serializer = serializer
        self._own_all: Callable[[list[Any]], list[Any]] = itself if shares_objects else own_copies
        self._fit = fit_for(serializer.type_info, name)
        self._encoded: list[bytes] = []
        self._values: list[Any] | None = []

    def add(self, value: Any) -> None:
        """Append one element."""
        self.add_all((value,))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append several elements."""
        self._elements().extend(self._taken(values))

    def update(self, values: Iterable[Any]) -> None:
        """Replace the list."""
        self.hold_all(self._taken(values))

    def hold_all(self, values: list[Any]) -> None:
        """Replace the list by one that is nobody else's, until it is saved."""
        self._values = values
        self._encoded = []

    def clear(self) -> None:
        """Empty the list."""
        self.update(())

    def get(self) -> list[Any]:
        """Return the elements, in a list of its own."""
        return self._own_all(list(self._elements()))

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the elements."""
        return iter(self.get())

    def save(self) -> tuple[str, list[bytes]]:
        """Return the kind and the bytes of the elements."""
        if self._values is not None:
            kept = self._encoded  # of the elements that were there before
            self._encoded = kept + list(map(self.serializer.dumps, self._values[len(kept) :]))
        return self.kind, self._encoded

    def load(self, encoded: list[bytes]) -> None:
        """Hold what was saved."""
        self._encoded = encoded
        self._values = None

    def reset(self) -> None:
        """Hold nothing, as at the very first."""
        self.update(())

    def _elements(self) -> list[Any]:
        if self._values is None:
            self._values = list(map(self.serializer.loads, self._encoded))
        return self._values

    def _taken(self, values: Iterable[Any]) -> list[Any]:
        return self._own_all(list(values)) if self._fit is None else list(map(self._fit, values))


class OperatorBroadcastState:
    """A map that every subtask has a copy of; encoded again only after batches in which it has changed.

    Values that can be changed are copied on their way in and out: the map changes by its methods only.
    """

    kind = BROADCAST

    def __init__(self, name: str, serializer: StateSerializer | None = None, *, shares_objects: bool = False) -> None:
        """Make an empty map; without a serializer it is pickled."""
        self.name = name
        self.serializer = serializer_for(None, name) if serializer is None else serializer
        self.entries: dict[Any, Any] = {}  # one dict for good: read-only views hold it
        self.own: Callable[[Any], Any] = itself if shares_objects else own_copy
        declared = self.serializer.type_info
        self._fit = fit_for(declared if isinstance(declared, MapTypeInfo) else None, name)
        self._data = b""
        self._is_changed = True

    def get(self, key: Any) -> Any:
        """Return the value of a key, or None."""
        return self.own(self.entries.get(key))

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        self._is_changed = True
        if self._fit is None:
            self.entries[key] = self.own(value)
        else:
            self.entries.update(self._fit({key: value}))

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Set several values."""
        for key, value in dict_value.items() if isinstance(dict_value, Mapping) else dict_value:
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Forget a key, there or not."""
        self._is_changed = True
        self.entries.pop(key, None)

    def contains(self, key: Any) -> bool:
        """Return whether the key has a value."""
        return key in self.entries

    def items(self) -> list[tuple[Any, Any]]:
        """Return keys and values; the map may be changed meanwhile."""
        return list(zip(self.entries, map(self.own, self.entries.values()), strict=True))

    def keys(self) -> list[Any]:
        """Return the keys; the map may be changed meanwhile."""
        return list(self.entries)

    def values(self) -> list[Any]:
        """Return the values; the map may be changed meanwhile."""
        return list(map(self.own, self.entries.values()))

    def is_empty(self) -> bool:
        """Return whether there is no entry."""
        return not self.entries

    def clear(self) -> None:
        """Forget all keys."""
        self._is_changed = True
        self.entries.clear()

    __getitem__ = get
    __setitem__ = put
    __delitem__ = remove
    __contains__ = contains

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys; the map may be changed meanwhile."""
        return iter(self.keys())

    def save(self) -> tuple[str, bytes]:
        """Return the kind and the bytes of the map."""
        if self._is_changed:
            self._data = self.serializer.dumps(self.entries)
        self._is_changed = False
        return BROADCAST, self._data

    def load(self, data: bytes) -> None:
        """Hold what was saved; a map that has not changed since this process had it last is not decoded again."""
        if self._is_changed or data != self._data:
            self.entries.clear()
            self.entries.update(self.serializer.loads(data))
            self._data = data
        self._is_changed = False

    def reset(self) -> None:
        """Hold nothing, as at the very first."""
        self.clear()


class ReadOnlyBroadcastView:
    """A broadcast state as the data side sees it."""

    __slots__ = ("_entries", "_name", "_own", "contains", "keys")

    def __init__(self, state: OperatorBroadcastState) -> None:
        """View a state."""
        self._entries = entries = state.entries
        self._own = state.own
        self._name = state.name
        self.contains = entries.__contains__
        self.keys = entries.keys

    def get(self, key: Any) -> Any:
        """Return the value of a key, or None."""
        value = self._entries.get(key)
        return value if value.__class__ in ATOMS else self._own(value)

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return keys and values, to be gone over."""
        return zip(self._entries, self.values(), strict=True)

    def values(self) -> Iterable[Any]:
        """Return the values, to be gone over."""
        return map(self._own, self._entries.values())

    def is_empty(self) -> bool:
        """Return whether there is no entry."""
        return not self._entries

    def __getitem__(self, key: Any) -> Any:
        """Return the value of a key, or None."""
        return self.get(key)

    def __contains__(self, key: Any) -> bool:
        """Return whether the key has a value."""
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys."""
        return iter(self.keys())

    def _refuse(self, *_: Any) -> NoReturn:
        raise StateError(
            f"broadcast state {self._name!r} may only be read on this side: a change here would affect only one "
            "subtask; change it in process_broadcast_element, which every subtask calls."
        )

    put = put_all = update = remove = clear = __setitem__ = __delitem__ = _refuse


OperatorState = OperatorListState | OperatorBroadcastState


class OperatorStateBackend:
    """The states of one operator in one subtask that belong to no key, by name."""

    def __init__(self, *, shares_objects: bool = False) -> None:
        """Make a backend without states; with `shares_objects` user code has the objects of the states themselves."""
        self._shares_objects = shares_objects
        self._states: dict[str, OperatorState] = {}
        self._saved: Saved = {}
        self._schemas: Schemas = {}

    def list_state(self, name: str, kind: str = LIST, type_info: TypeInformation | None = None) -> OperatorListState:
        """Return the list of a name; `kind` is LIST or UNION, the type that of an element."""
        found = self._known(name, kind)
        if found is None:
            serializer = serializer_for(type_info, name)
            found = self._register(OperatorListState(name, kind, serializer, shares_objects=self._shares_objects))
        assert isinstance(found, OperatorListState)
        return found

    def broadcast_state(self, name: str, type_info: TypeInformation | None = None) -> OperatorBroadcastState:
        """Return the map of a name; the type is that of the map."""
        found = self._known(name, BROADCAST)
        if found is None:
            serializer = serializer_for(type_info, name)
            found = self._register(OperatorBroadcastState(name, serializer, shares_objects=self._shares_objects))
        assert isinstance(found, OperatorBroadcastState)
        return found

    def schemas(self) -> Schemas:
        """Return the schemas that what `save` gives may have; elements of a list keep the one they were saved with."""
        for name, state in self._states.items():
            known = self._schemas.setdefault(name, [])
            if not state.serializer.is_pickle and state.serializer.schema not in known:
                known.append(state.serializer.schema)
        return {name: list(known) for name, known in self._schemas.items() if known}

    def pickled(self) -> list[str]:
        """Return the names of the states that are pickled."""
        return sorted(name for name, state in self._states.items() if state.serializer.is_pickle)

    def save(self) -> Saved:
        """Return all states as bytes; those that nobody has asked for are handed on as they came."""
        self._saved = {**self._saved, **{name: state.save() for name, state in self._states.items()}}
        return self._saved

    def restore(self, saved: Saved, schemas: Schemas | None = None) -> None:
        """Hold what was saved, and nothing else."""
        self._saved = saved
        self._schemas = {name: list(known) for name, known in (schemas or {}).items()}
        for state in self._states.values():
            self._load(state)

    def _known(self, name: str, kind: str) -> OperatorState | None:
        found = self._states.get(name)
        if found is not None and found.kind != kind:
            raise StateError(f"State {name!r} is {found.kind} state already: give the {kind} state another name.")
        return found

    def _register(self, state: OperatorState) -> OperatorState:
        self._load(state)
        self._states[state.name] = state
        return state

    def _load(self, state: OperatorState) -> None:
        saved = self._saved.get(state.name)
        if saved is None:
            state.reset()
            return
        kind, content = saved
        for schema in self._schemas.get(state.name, ()):
            state.serializer.learn(schema)
        if kind != state.kind:
            raise StateError(
                f"State {state.name!r} is {state.kind} state in the program but {kind} state in the checkpoint: "
                "give the new state another name."
            )
        state.load(content)


@dataclass(frozen=True)
class OperatorSnapshot:
    """What an operator with such states hands to its next batch: its own part, the states, and who made it."""

    own: Any
    states: Saved = field(default_factory=dict)
    version: int = -1
    attempt: str = ""
    schemas: Schemas = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """Return it without classes of ours: checkpoints outlive them."""
        plain = {_MARK: 1, "own": self.own, "states": self.states, "made": (self.version, self.attempt)}
        return {**plain, "schemas": self.schemas} if self.schemas else plain

    @staticmethod
    def from_plain(plain: Any) -> OperatorSnapshot | None:
        """Return what `to_plain` gave; None for the snapshot of an operator without such states."""
        if not isinstance(plain, dict) or _MARK not in plain:
            return None
        version, attempt = plain["made"]
        return OperatorSnapshot(plain["own"], plain["states"], version, attempt, plain.get("schemas", {}))


_MARK = "penstock operator state"


def rescaled(plain: Sequence[Any], parallelism: int, own_of: int = 0) -> list[Any]:
    """Deal out an operator's snapshots, one of each old subtask, to another number of subtasks.

    What is the operator's own cannot be divided: all get that of the old subtask `own_of`.
    """
    found = [OperatorSnapshot.from_plain(each) for each in plain]
    known = [each for each in found if each is not None]
    if not known:
        return [plain[own_of]] * parallelism
    own = found[own_of]
    version = max(each.version for each in known)
    states = deal_out([{} if each is None else each.states for each in found], parallelism)
    schemas = merged_schemas(each.schemas for each in known)
    return [
        OperatorSnapshot(plain[own_of] if own is None else own.own, each, version, schemas=schemas).to_plain()
        for each in states
    ]


def merged_schemas(found: Iterable[Schemas]) -> Schemas:
    """Return the schemas of several subtasks, each once."""
    merged: Schemas = {}
    for each in found:
        for name, schemas in each.items():
            known = merged.setdefault(name, [])
            known += [schema for schema in schemas if schema not in known]
    return merged


def deal_out(saved: Sequence[Saved], parallelism: int) -> list[Saved]:
    """Deal out the states of all old subtasks to the new ones, by Flink's rules.

    A list: its elements of all subtasks in a row, cut in pieces of nearly equal length; the longer pieces start where
    those of the list before stopped. A union list: all elements to all. Broadcast: copies in turn.
    """
    dealt: list[Saved] = [{} for _ in range(parallelism)]
    first = 0
    for name, kind in _kinds(saved).items():
        parts = [states[name][1] if name in states else [] for states in saved]
        if kind == BROADCAST:
            shares: list[Any] = [saved[new % len(saved)].get(name, (kind, None))[1] for new in range(parallelism)]
        elif kind == UNION:
            shares = [[element for part in parts for element in part]] * parallelism
        elif len(saved) == parallelism:  # as in Flink, lists stay where they are if nothing forces them to move
            shares = parts
        else:
            elements = [element for part in parts for element in part]
            shares = _pieces(elements, parallelism, first)
            first = (first + len(elements)) % parallelism
        for states, share in zip(dealt, shares, strict=True):
            if share is not None:
                states[name] = kind, share
    return dealt


def _kinds(saved: Sequence[Saved]) -> dict[str, str]:
    return {name: kind for states in reversed(saved) for name, (kind, _) in states.items()}


def _pieces(elements: list[bytes], parallelism: int, first: int) -> list[list[bytes]]:
    """Contiguous pieces of nearly equal length; the first piece, one of the longest, goes to subtask `first`."""
    length, longer = divmod(len(elements), parallelism)
    pieces: list[list[bytes]] = [[] for _ in range(parallelism)]
    start = 0
    for turn in range(parallelism):
        stop = start + length + (turn < longer)
        pieces[(first + turn) % parallelism] = elements[start:stop]
        start = stop
    return pieces
