"""The order of Java's hash sets and tree sets, which is the order that descriptions of topologies have.

Kafka Streams puts nodes into a tree set that is ordered by how much follows them, and counts on meanwhile: the order
depends on how much was counted when a node came, and that on the order of a hash map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


def hash_order(texts: Iterable[str]) -> list[str]:
    """Texts in the order in which a Java hash map iterates over them."""
    listed = list(texts)
    buckets = 16
    while len(listed) > buckets * 3 // 4:
        buckets *= 2
    return sorted(listed, key=lambda text: _spread(text) & (buckets - 1))


def _spread(text: str) -> int:
    code = 0
    units = text.encode("utf-16-be")
    for place in range(0, len(units), 2):
        code = (code * 31 + int.from_bytes(units[place : place + 2], "big")) & 0xFFFFFFFF
    return code ^ (code >> 16)


class TreeSet(Generic[T]):
    """A sorted set that compares when something is added, and never again."""

    def __init__(self, compare: Callable[[T, T], int]) -> None:
        self._compare = compare
        self._root: list[object] | None = None

    def add(self, item: T) -> None:
        """Add an item at the place it has now."""
        if self._root is None:
            self._root = [None, item, None]
            return
        node = self._root
        while True:
            compared = self._compare(item, node[1])  # type: ignore[arg-type]
            if compared == 0:
                return
            side = 0 if compared < 0 else 2
            below = node[side]
            if below is None:
                node[side] = [None, item, None]
                return
            assert isinstance(below, list)
            node = below

    def items(self) -> list[T]:
        """The items in their order."""
        found: list[T] = []

        def walk(node: object) -> None:
            if isinstance(node, list):
                walk(node[0])
                found.append(node[1])
                walk(node[2])

        walk(self._root)
        return found
