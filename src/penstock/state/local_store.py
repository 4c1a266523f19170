"""The interface of stores that a worker keeps between batches.

Such a store is a cache of a version in the checkpoint directory, and its tag names that version. A kill at any moment,
or files that are damaged, may cost what it holds, never show a mix: the next opening finds what was committed last
with its tag, or an empty store without one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from penstock.errors import StateError
from penstock.state.store import OrderedStore


class DamagedStoreError(StateError):
    """The files of a local store are damaged. Raised while it was open, the next opening replaces them."""


class LocalStore(OrderedStore):
    """An ordered store at a path, with a tag that says what it holds; None for one that holds nothing."""

    tag: bytes | None

    @classmethod
    @abstractmethod
    def open(cls, path: str) -> Self:
        """Open or create the store at a path; raises `DamagedStoreError` if what is there cannot be used."""

    @classmethod
    @abstractmethod
    def erase(cls, path: str) -> None:
        """Delete the store at a path, which nobody has open."""

    @abstractmethod
    def commit(self, tag: bytes) -> None:
        """Make all writes and the tag the state that the next opening finds, and go on writing."""

    def frozen(self) -> Iterator[tuple[bytes, bytes]] | None:
        """Return all entries as they were committed last, in order, for another thread to read while this one writes.

        They must have been read or dropped when the store is closed. None: the store has no such view.
        """
        return None

    @abstractmethod
    def clear(self) -> None:
        """Remove all entries."""

    @abstractmethod
    def close(self) -> None:
        """Forget all writes since the last commit and let go of the path; a second call is fine."""

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()
