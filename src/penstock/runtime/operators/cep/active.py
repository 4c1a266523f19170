"""The patterns that are on in a subtask, by id; what is kept of them is broadcast state.

Every pattern that is put gets a number of its own, also when it takes the place of another one of its id. The number
is in the place of its partial matches, so that those of a pattern that is gone are told from those of its successor
by the key that has them, whenever it is met next.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol
from zlib import crc32

from penstock.common.plain_data import pack_record, unpack_record
from penstock.runtime.operators.cep.automaton import Automaton
from penstock.runtime.operators.cep.matcher import Matcher
from penstock.runtime.operators.cep.pattern_runs import PatternRuns
from penstock.runtime.operators.cep.skipping import AfterMatchSkipStrategy
from penstock.state.operator_state import OperatorBroadcastState

NAMESPACE_BYTES = 8
_LAST_NUMBER = ""  # no pattern has this id
_FORM = 1
_namespace = struct.Struct(">II").pack


class Update(NamedTuple):
    """A pattern as it is kept, to be looked for under an id; None: no more."""

    pattern_id: str
    kept: bytes | None


class CompiledPattern(NamedTuple):
    """A pattern, ready to be looked for; `described` says it in words."""

    automaton: Automaton
    skip: AfterMatchSkipStrategy
    described: tuple[str, ...]


class UpdateReader(Protocol):
    """What understands records as updates of patterns; it raises `GraphError` for what it does not understand."""

    def read(self, record: Any) -> Update:
        """Return the update that a record stands for."""

    def compiled(self, update: Update) -> CompiledPattern:
        """Return the pattern of an update that has one."""


class ActivePattern(NamedTuple):
    """A pattern that is on. `namespace`: where its partial matches are; `conditions`: what has to be closed."""

    pattern_id: str
    namespace: bytes
    kept: bytes
    matcher: Matcher
    runs: PatternRuns
    conditions: tuple[Any, ...]


Activate = Callable[[str, bytes, bytes, CompiledPattern], ActivePattern]


class ActivePatterns:
    """The patterns of a subtask. `activate` and `deactivate` open and close them."""

    def __init__(
        self,
        state: OperatorBroadcastState,
        reader: UpdateReader,
        activate: Activate,
        deactivate: Callable[[ActivePattern], None],
    ) -> None:
        self._state = state
        self._reader = reader
        self._activate = activate
        self._deactivate = deactivate
        self._by_id: dict[str, ActivePattern] = {}
        self.all: tuple[ActivePattern, ...] = ()
        self.namespaces: frozenset[bytes] = frozenset()

    def load(self) -> None:
        """Activate the patterns in the state, which another process may have written."""
        kept = {name: entry for name, entry in self._state.entries.items() if name != _LAST_NUMBER}
        for name in self._by_id.keys() - kept.keys():
            self._deactivate(self._by_id.pop(name))
        for name, entry in kept.items():
            number, pattern = unpack_record(entry, _FORM, f"The pattern {name!r}")
            self._switch_on(Update(name, pattern), number)
        self._by_id = {name: self._by_id[name] for name in sorted(kept)}
        self._changed()

    def _switch_on(self, update: Update, number: int) -> None:
        name, kept = update
        assert kept is not None
        namespace = _namespace(number & 0xFFFFFFFF, crc32(name.encode("utf-8", "surrogatepass")))
        known = self._by_id.get(name)
        if known is not None:
            if known.namespace == namespace and known.kept == kept:
                return
            self._deactivate(known)
        self._by_id[name] = self._activate(name, namespace, kept, self._reader.compiled(update))

    def apply(self, update: Update) -> bool:
        """Switch a pattern on or off; whether partial matches of another one may have to go.

        An equal pattern of the same id goes on with its partial matches.
        """
        name, kept = update
        known = self._by_id.get(name)
        if kept is None:
            if known is None:
                return False
            self._state.remove(name)
            self._deactivate(self._by_id.pop(name))
        else:
            if known is not None and known.kept == kept:
                return False
            number = self._next_number()
            self._switch_on(update, number)
            self._state.put(name, pack_record([number, kept], _FORM))
            self._by_id = {each: self._by_id[each] for each in sorted(self._by_id)}
        self._changed()
        return known is not None

    def _next_number(self) -> int:
        entry = self._state.entries.get(_LAST_NUMBER)
        number: int = 1 if entry is None else unpack_record(entry, _FORM, "The number of the last pattern") + 1
        self._state.put(_LAST_NUMBER, pack_record(number, _FORM))
        return number

    def _changed(self) -> None:
        self.all = tuple(self._by_id.values())
        self.namespaces = frozenset([pattern.namespace for pattern in self.all])

    def close(self) -> Iterable[ActivePattern]:
        """Switch all off; those that were on."""
        found, self._by_id = self.all, {}
        self._changed()
        return found


class PendingUpdates:
    """Updates that wait for their time, in broadcast state: by number, as they came."""

    def __init__(self, state: OperatorBroadcastState) -> None:
        self._state = state

    def add(self, time: int, update: Update) -> None:
        """Let an update wait."""
        number = max(map(int, self._state.entries), default=0) + 1
        self._state.put(str(number), pack_record([time, *update], _FORM))

    def due(self, watermark: int) -> list[tuple[int, Update]]:
        """Remove and return those up to a watermark, in order of time."""
        found = []
        for number in sorted(self._state.keys(), key=int):
            time, name, kept = unpack_record(self._state.entries[number], _FORM, "An update of a pattern")
            if time <= watermark:
                found.append((time, Update(name, kept)))
                self._state.remove(number)
        return sorted(found, key=lambda each: each[0])
