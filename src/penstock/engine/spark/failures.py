"""What a user reads when a job fails: the cause first, without the stacks of engines in between."""

from __future__ import annotations

import re

from penstock.errors import PenstockError
from penstock.runtime.failure import OperatorFailure

_JVM_TAIL = re.compile(r"\n\s*(JVM stacktrace|Driver stacktrace|at (org|java|scala|jdk)[.$\w/]+\().*", re.DOTALL)
_WORKER_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\):.*?(?=\n\n|\n\tat |\n SQLSTATE|\n=== |\Z)", re.DOTALL
)


def failure_text(error: BaseException, job_name: str) -> str:
    """The text of a JobFailedError."""
    if isinstance(error, OperatorFailure):
        return f"{error.text}\njob {job_name!r} failed"
    if isinstance(error, PenstockError):
        return f"{error}\njob {job_name!r} failed"
    text = error_text(error)
    inner = _WORKER_TRACEBACK.search(text)
    cause = inner.group(0) if inner is not None else _JVM_TAIL.sub("", text)
    return f"{cause.strip()}\njob {job_name!r} failed in Spark ({type(error).__name__})"


def error_text(error: BaseException) -> str:
    """The text of an error; those of Java ask Java for it, which may be gone."""
    try:
        return str(error)
    except Exception as failure:
        return f"{type(error).__name__}, whose text could not be had ({type(failure).__name__})"
