"""What a user reads when a job fails: the cause first."""

from __future__ import annotations

from penstock.errors import PenstockError
from penstock.runtime.failure import OperatorFailure


def failure_text(error: BaseException, job_name: str) -> str:
    """The text of a JobFailedError, for any error that an engine has no better words for."""
    return f"{cause_of(error)}\njob {job_name!r} failed"


def cause_of(error: BaseException) -> str:
    """The cause alone: the user's traceback with the operator, or what the error says."""
    return error.text if isinstance(error, OperatorFailure) else error_text(error)


def is_told_by_us(error: BaseException) -> bool:
    """Whether an error was raised by Penstock, with a text for users."""
    return isinstance(error, (OperatorFailure, PenstockError))


def error_text(error: BaseException) -> str:
    """The text of an error; those of Java ask Java for it, which may be gone."""
    try:
        return str(error)
    except Exception as failure:
        return f"{type(error).__name__}, whose text could not be read ({type(failure).__name__})"
