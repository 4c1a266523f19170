"""What a user reads when a job fails on Spark: the cause first, without the stacks of engines in between."""

from __future__ import annotations

import re

from penstock.job import failures

_JVM_TAIL = re.compile(r"\n\s*(JVM stacktrace|Driver stacktrace|at (org|java|scala|jdk)[.$\w/]+\().*", re.DOTALL)
_WORKER_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\):.*?(?=\n\n|\n\tat |\n SQLSTATE|\n=== |\Z)", re.DOTALL
)


def failure_text(error: BaseException, job_name: str) -> str:
    """The text of a JobFailedError."""
    if failures.is_told_by_us(error):
        return failures.failure_text(error, job_name)
    text = failures.error_text(error)
    inner = _WORKER_TRACEBACK.search(text)
    cause = inner.group(0) if inner is not None else _JVM_TAIL.sub("", text)
    return f"{cause.strip()}\njob {job_name!r} failed in Spark ({type(error).__name__})"
