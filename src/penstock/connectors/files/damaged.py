"""Errors of a file that cannot be read to its end: whatever a library says of it is told with the file's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import SourceError


@contextmanager
def naming(path: str, kind: str) -> Iterator[None]:
    """Tell what goes wrong in the block as an error of the file; libraries raise errors of all kinds for one cause."""
    try:
        yield
    except FileNotFoundError:
        raise SourceError(
            f"the file {path} is gone, but was not read to its end: put it back, or start the job again with another "
            "checkpoint directory"
        ) from None
    except SourceError:
        raise
    except Exception as error:
        raise SourceError(
            f"{path} is not a complete {kind} file, or is damaged: {error or type(error).__name__}. Put a good copy in "
            "its place, or take it away before the job starts"
        ) from None
