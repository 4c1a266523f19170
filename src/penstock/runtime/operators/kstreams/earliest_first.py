"""The order in which a task takes records of several topics: the one with the earliest timestamp first.

Where timestamps are equal, the order is that of Java's priority queue, so that tests see what Kafka Streams shows them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class EarliestFirst(Generic[T]):
    """Queues by name; the next item is the head of the queue whose head is earliest."""

    def __init__(self, time_of: Callable[[T], int]) -> None:
        self._time_of = time_of
        self._queues: dict[str, deque[T]] = {}
        self._heap: list[deque[T]] = []

    def __len__(self) -> int:
        """How many items wait."""
        return sum(map(len, self._queues.values()))

    def put(self, name: str, item: T) -> None:
        """Add an item to the end of a queue."""
        queue = self._queues.setdefault(name, deque())
        queue.append(item)
        if len(queue) == 1:
            self._offer(queue)

    def take(self) -> T:
        """Remove the next item."""
        queue = self._poll()
        item = queue.popleft()
        if queue:
            self._offer(queue)
        return item

    def _time(self, queue: deque[T]) -> int:
        return self._time_of(queue[0])

    def _offer(self, queue: deque[T]) -> None:
        heap = self._heap
        heap.append(queue)
        place = len(heap) - 1
        while place > 0:
            parent = (place - 1) // 2
            if self._time(queue) >= self._time(heap[parent]):
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = queue

    def _poll(self) -> deque[T]:
        heap = self._heap
        first, last = heap[0], heap.pop()
        if not heap:
            return first
        place, half = 0, len(heap) // 2
        while place < half:
            child = 2 * place + 1
            if child + 1 < len(heap) and self._time(heap[child]) > self._time(heap[child + 1]):
                child += 1
            if self._time(last) <= self._time(heap[child]):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = last
        return first
