"""The partial matches of many patterns: each pattern has its rows in a namespace, and a key knows which it has.

| state | row | object |
|---|---|---|
| `_cep_running` | the key | the namespaces of the patterns that have rows for the key, 8 bytes each |

The others are those of `penstock.runtime.operators.cep.runs`, once for each namespace. Most keys have begun few of the
patterns: of the others nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.common.typeinfo import Types
from penstock.runtime.operators.cep.matcher import KeyRun
from penstock.runtime.operators.cep.runs import KeyRuns, started
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.vocabulary.state import ValueStateDescriptor

RUNNING = "_cep_running"
_NAMESPACE_BYTES = 8
_NONE: frozenset[bytes] = frozenset()


class RunningPatterns:
    """Which patterns have partial matches for the current key."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        descriptor = ValueStateDescriptor(RUNNING, Types.PRIMITIVE_ARRAY(Types.BYTE()))
        self._state = backend.get_value_state(descriptor)

    def get(self) -> frozenset[bytes]:
        """Their namespaces."""
        data = self._state.held()
        if data is None:
            return _NONE
        return frozenset([data[at : at + _NAMESPACE_BYTES] for at in range(0, len(data), _NAMESPACE_BYTES)])

    def set(self, namespaces: frozenset[bytes] | set[bytes]) -> None:
        """Remember them."""
        self._state.hold(b"".join(sorted(namespaces)) or None)


class PatternRuns(KeyRuns):
    """The runs of all keys and of the patterns that are alike in order. `running`: those the current key has."""

    running: frozenset[bytes] = _NONE

    def set_pattern(self, namespace: bytes) -> None:
        """Go to the rows of another pattern of the current key."""
        self._backend.set_namespace(namespace)

    def current(self) -> KeyRun:
        """The run of the current key and pattern."""
        kept = self._kept.get(self._backend.address)
        if kept is not None:
            return kept.run
        return super().current() if self._backend.namespace in self.running else self._idle

    def is_running(self) -> bool:
        """Whether the current pattern, whose run was asked for, has anything for the current key."""
        kept = self._kept.get(self._backend.address)
        return kept is not None and not kept.run.is_idle

    def release(self) -> int | None:
        """Forget the run of the current key and pattern; how many matches it had, None if it was not in memory."""
        address = self._backend.address
        self._changed.pop(address, None)
        self._absent.discard(address)
        kept = self._kept.pop(address, None)
        return None if kept is None else started(kept.run)


def drop(all_runs: Iterable[PatternRuns], namespaces: frozenset[bytes]) -> int:
    """Remove what patterns have for the current key; how many partial and complete matches there were.

    `all_runs` share their rows; one of them has what is in memory of a pattern, newer than its rows.
    """
    count = 0
    first, *_ = runs = list(all_runs)
    for namespace in namespaces:
        first.set_pattern(namespace)
        in_memory = [held for held in [each.release() for each in runs] if held is not None]
        in_rows = first.clear()
        count += sum(in_memory) if in_memory else in_rows
    first.set_pattern(VOID_NAMESPACE)
    return count
