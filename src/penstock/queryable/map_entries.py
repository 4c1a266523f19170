"""Which entries of a map a query reads: all, some keys, texts with a prefix, or a range of keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import KeyEncodingError, QueryError
from penstock.keys.codec import encode_key
from penstock.keys.plain_decoding import plain_key
from penstock.keys.tags import LONG_LENGTH, TAG_BIG_INT, TAG_INT, TAG_STR
from penstock.queryable.store import StoreView
from penstock.state.store import prefix_end

if TYPE_CHECKING:
    from penstock.queryable.content import KeyedStateInfo

DEFAULT_LIMIT = 1000
_BIG = 1 << 63


@dataclass(frozen=True)
class EntryChoice:
    """Entries of maps: those of some encoded keys, or whose key is in [first, last) or begins with a prefix."""

    keys: tuple[bytes, ...] | None = None
    prefix: str | None = None
    first: Any = None
    last: Any = None
    limit: int = DEFAULT_LIMIT

    @property
    def chooses(self) -> bool:
        """Whether not all entries are asked for."""
        return self.keys is not None or self.prefix is not None or self.first is not None or self.last is not None

    def refuse_for(self, state: KeyedStateInfo) -> None:
        """Refuse a choice of entries in a state that is no map."""
        if self.chooses:
            raise QueryError(f"state {state.name!r} is {state.kind} state: map_key, prefix, from and to are for maps")

    def in_order(self, entries: list[list[Any]]) -> list[list[Any]]:
        """Entries in the order of their keys, where rows are not in that order."""
        is_text = self.prefix is not None or isinstance(self.first, str) or isinstance(self.last, str)
        return sorted(entries, key=lambda entry: str(entry[0])) if is_text else entries


def chosen_rows(view: StoreView, prefix: bytes, choice: EntryChoice) -> Iterator[tuple[bytes, bytes]]:
    """Encoded map keys and values of the chosen entries of one map, whose rows begin with `prefix`."""
    if choice.keys is not None:
        for code in dict.fromkeys(choice.keys):
            data = view.get(prefix + code)
            if data is not None:
                yield code, data
    elif choice.prefix is not None:
        yield from _texts_with(view, prefix, choice.prefix.encode("utf-8", "surrogatepass"))
    elif _are_whole(choice):
        yield from _whole_numbers(view, prefix, choice)
    else:
        for row, data in view.scan(prefix):
            code = row[len(prefix) :]
            if _is_between(code, choice):
                yield code, data


def _texts_with(view: StoreView, prefix: bytes, text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys that begin with a text. Rows go by the length of a text first, so each length is looked at once."""
    length, long_texts = len(text), prefix + bytes([TAG_STR, LONG_LENGTH])
    while length < LONG_LENGTH:
        stem = prefix + bytes([TAG_STR, length]) + text
        following = next(view.range(stem, long_texts), None)
        if following is None:
            break
        found = following[0][len(prefix) + 1]
        if found == length:
            yield from ((row[len(prefix) :], data) for row, data in view.scan(stem))
        length = max(found, length + 1)
    for row, data in view.scan(long_texts):
        if row[len(long_texts) + 4 :].startswith(text):
            yield row[len(prefix) :], data


def _are_whole(choice: EntryChoice) -> bool:
    ends = [end for end in (choice.first, choice.last) if end is not None]
    return bool(ends) and all(type(end) is int and -_BIG <= end < _BIG for end in ends)


def _whole_numbers(view: StoreView, prefix: bytes, choice: EntryChoice) -> Iterator[tuple[bytes, bytes]]:
    """Keys that are whole numbers of 64 bits, which are in order, then other numbers, which are not."""
    start = prefix + (bytes([TAG_INT]) if choice.first is None else encode_key(choice.first))
    stop = prefix_end(prefix + bytes([TAG_INT])) if choice.last is None else prefix + encode_key(choice.last)
    for row, data in view.range(start, stop):
        yield row[len(prefix) :], data
    for row, data in view.range(prefix + bytes([TAG_BIG_INT]), prefix + bytes([TAG_STR])):
        if _is_between(row[len(prefix) :], choice):
            yield row[len(prefix) :], data


def _is_between(code: bytes, choice: EntryChoice) -> bool:
    if choice.first is None and choice.last is None:
        return True
    try:
        key = plain_key(code)
        return (choice.first is None or choice.first <= key) and (choice.last is None or key < choice.last)
    except (TypeError, KeyEncodingError):
        return False  # of another type than the ends
