"""What Py4J says to Python's log: no news of every call, and no stack of a failure that the job tells itself."""

from __future__ import annotations

import logging

__all__ = ["hush_py4j", "tell_elsewhere"]

_MARK = "_told_by_penstock"


class _NotToldElsewhere(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not getattr(error, _MARK, False)


_FILTER = _NotToldElsewhere()


def hush_py4j() -> None:
    """Py4J tells every call into the JVM as news: thousands of lines for a program that asks for news of its own.

    It also logs the stack of whatever a batch raises, Java's too, though the job tells its failures, and the end of a
    job that was cancelled is none.
    """
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)
    logging.getLogger("py4j.clientserver").addFilter(_FILTER)  # once: the same filter is not added again


def tell_elsewhere(error: BaseException) -> None:
    """Say of an error that is raised through Py4J that its log need not show it."""
    setattr(error, _MARK, True)
