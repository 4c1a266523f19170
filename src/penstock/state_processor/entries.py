"""Entries of keyed state: the rows of a savepoint taken apart.

What the rows of each kind of state hold is laid down where the state is (`penstock.state`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.errors import StateError
from penstock.keys.codec import decode_key
from penstock.state.declarations import MAP_KEY, VALUE, SchemasByRole
from penstock.state.map_state import KEPT_BY_ROW, split_entry
from penstock.state.serializers import lossy_value_test, plain_reader
from penstock.state.timers import time_from_bytes
from penstock.state.ttl import list_without_stamps, stamp_of, stamps_of_list, without_stamp
from penstock.state.values import load_value
from penstock.state_processor.slices import Block
from penstock.state_processor.value_forms import PICKLE_FORM, form_of, schemas_by_form


class Entries(NamedTuple):
    """Some entries, column by column. `seconds` are keys of a map, places in a list or times of timers.

    `forms` are those of the values, `raws` their bytes where each has its own. `originals` are the bytes of map keys
    beside those in the row, which are in `codes`.
    """

    keys: list[bytes]
    namespaces: list[bytes]
    seconds: list[Any]
    values: list[Any]
    forms: list[str]
    raws: list[bytes] | None
    stamps: list[int | None]
    codes: list[bytes]
    originals: list[bytes | None]


@dataclass(frozen=True)
class Foreign:
    """Stands for an object that cannot be made here; it is shown as `text`."""

    text: str

    def __repr__(self) -> str:
        return self.text


class EntryReader:
    """Makes entries of the rows of one state, block after block, in order; `written` are the schemas they may have."""

    def __init__(self, state: str, kind: str, written: SchemasByRole) -> None:
        self._state = state
        self._read: Callable[[Block], Entries] = _READERS.get(kind, EntryReader._read_single).__get__(self)
        self._readers = _readers(written.get(VALUE, []))
        self._lossy_value_tests = _lossy_value_tests(written.get(VALUE, []))
        self.is_exact = True  # that what was read so far shows all there is
        self._key_readers = _readers(written.get(MAP_KEY, []))
        types = {schema["type"] for schema in written.get(MAP_KEY, [])}
        self._typed_key = KEPT_BY_ROW.get(types.pop()) if len(types) == 1 else None
        self._last = b"", b""
        self._position = 0

    def read(self, blocks: Iterator[Block]) -> Iterator[Entries]:
        """The entries of some blocks."""
        return map(self._read, blocks)

    def _load(self, data: bytes, form: str) -> Any:
        if form != PICKLE_FORM:
            return self._load_typed(data, form)
        try:
            return load_value(data, self._state)
        except StateError as error:
            return Foreign(f"<{error}>")

    def _load_typed(self, data: bytes, form: str) -> Any:
        loses = self._lossy_value_tests.get(form)
        if loses is not None and self.is_exact:
            self.is_exact = not loses(data)
        return self._plain(self._readers, form)(data)

    def _plain(self, readers: dict[str, Callable[[bytes], Any]], form: str) -> Callable[[bytes], Any]:
        found = readers.get(form)
        if found is None:
            raise StateError(
                f"State {self._state!r} holds bytes of a type that the savepoint does not describe: it is damaged, or "
                "was written by a newer version."
            )
        return found

    def _read_single(self, block: Block) -> Entries:
        raws = list(map(without_stamp, block.values))
        return self._entries(block, [], raws, [])

    def _read_map(self, block: Block) -> Entries:
        pairs = [split_entry(without_stamp(data)) for data in block.values]
        originals, raws = map(list, zip(*pairs, strict=True))
        seconds = list(map(self._map_key, block.suffixes, originals))
        return self._entries(block, seconds, raws, originals)

    def _entries(self, block: Block, seconds: list[Any], raws: list[bytes], originals: list[Any]) -> Entries:
        forms = list(map(form_of, raws))
        values = list(map(self._load, raws, forms))
        stamps = list(map(stamp_of, block.values))
        return Entries(block.keys, block.namespaces, seconds, values, forms, raws, stamps, block.suffixes, originals)

    def _map_key(self, code: bytes, original: bytes | None) -> Any:
        if original is None:
            key = decode_key(code)
            return key if self._typed_key is None or key is None else self._typed_key(key)
        form = form_of(original)
        if form != PICKLE_FORM:
            # Keys go by the bytes of the object itself, which cannot be made of its plain form.
            return Foreign(repr(self._plain(self._key_readers, form)(original)))
        try:
            return load_value(original, self._state)
        except StateError as error:
            return Foreign(f"<{error}>")

    def _read_list(self, block: Block) -> Entries:
        found = Entries([], [], [], [], [], None, [], [], [])
        for key, namespace, data in zip(block.keys, block.namespaces, block.values, strict=True):
            bare = list_without_stamps(data)
            form = form_of(bare)
            items = load_value(bare, self._state) if form == PICKLE_FORM else self._load_typed(bare, form)
            if (key, namespace) != self._last:
                self._last, self._position = (key, namespace), 0
            start, self._position = self._position, self._position + len(items)
            stamps = stamps_of_list(data)
            found.keys.extend([key] * len(items))
            found.namespaces.extend([namespace] * len(items))
            found.seconds.extend(range(start, self._position))
            found.values.extend(items)
            found.forms.extend([form] * len(items))
            found.stamps.extend(stamps if isinstance(stamps, list) else [stamps] * len(items))
        return found

    def _read_timers(self, block: Block) -> Entries:
        times = list(map(time_from_bytes, block.suffixes))
        return Entries(block.keys, block.namespaces, times, [], [], None, [], [], [])


_READERS: dict[str, Any] = {
    "map": EntryReader._read_map,
    "list": EntryReader._read_list,
    "timer": EntryReader._read_timers,
}


def _readers(schemas: list[dict[str, Any]]) -> dict[str, Callable[[bytes], Any]]:
    return {form: plain_reader(schema) for form, schema in schemas_by_form(schemas).items()}


def _lossy_value_tests(schemas: list[dict[str, Any]]) -> dict[str, Callable[[bytes], bool]]:
    found = {form: lossy_value_test(schema) for form, schema in schemas_by_form(schemas).items()}
    return {form: loses for form, loses in found.items() if loses is not None}
