"""The iterator over a running job's results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Self

from penstock.common.type_variables import T_co


class CloseableIterator(Generic[T_co]):
    """Elements of a running job; closing it before its end cancels the job."""

    def __init__(self, values: Iterator[T_co], cancel: Callable[[], object]) -> None:
        """Take the elements and what to call if the reader stops early."""
        self._values = values
        self._cancel = cancel
        self._is_open = True

    def __iter__(self) -> Self:
        """Return itself: the elements can be read once."""
        return self

    def __next__(self) -> T_co:
        """Wait for the next element; raises the job's failure if it has one."""
        if not self._is_open:
            raise StopIteration
        try:
            return next(self._values)
        except BaseException as error:
            # End and failure of the job both leave nothing to cancel; an interrupted reader does.
            self._is_open = not isinstance(error, Exception)
            raise

    def next(self) -> T_co:
        """Return the next element, as in PyFlink."""
        return next(self)

    def close(self) -> None:
        """Stop reading; cancels the job unless it has ended."""
        if self._is_open:
            self._is_open = False
            self._cancel()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        """Close."""
        self.close()
