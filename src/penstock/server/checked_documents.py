"""Whether a document of a job can be shown: drivers of other versions, and files, may tell anything.

One that cannot be would spoil every list that it is in, so it is looked at where it comes in, and again before it is
shown: an earlier version may have let it into the registry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from penstock.errors import JobNotFoundError
from penstock.job.document import FORMAT
from penstock.server.flink import jobs, metrics, workers
from penstock.server.flink.states import JOB_STATES
from penstock.server.health import summary

_ID = re.compile(r"[\w.-]{1,100}")
_MOST_MS = 1 << 53
_MOST_NAME = 10_000


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_MS


def _is_id(value: object) -> bool:
    return isinstance(value, str) and bool(_ID.fullmatch(value))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_NAME


# What a field must be, in words for who sent it, and how that is seen. What is not here only one page shows.
_FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "format": (f"{FORMAT}", lambda value: value == FORMAT),
    "id": (
        "letters, digits, _ . - and at most 100",
        _is_id,
    ),
    "name": (
        f"text of at most {_MOST_NAME:,} letters",
        _is_name,
    ),
    "status": ("the state of a job", lambda value: isinstance(value, str) and value in JOB_STATES),
    "type": ("text", lambda value: isinstance(value, str)),
    "started_ms": ("a time in milliseconds", _is_time),
    "now_ms": ("a time in milliseconds", _is_time),
    "ended_ms": ("a time in milliseconds or null", lambda value: value is None or _is_time(value)),
    "status_ms": (
        "states with their times in milliseconds",
        lambda value: isinstance(value, dict) and bool(value) and all(map(_is_time, value.values())),
    ),
    "plan": ("a list", lambda value: isinstance(value, list)),
    "process": ("an object", lambda value: isinstance(value, dict)),
    "settings": ("an object", lambda value: isinstance(value, dict)),
    "exceptions": ("a list", lambda value: isinstance(value, list)),
    "metrics": ("an object", lambda value: isinstance(value, dict)),
}

# What lists make of a document, and beside them the page that shows one job.
_LISTED: tuple[Callable[[dict[str, Any]], Any], ...] = (
    jobs.job_overview,
    workers.workers_of,
    metrics.job_metrics,
    summary,
)
_SHOWN = (*_LISTED, jobs.job_details)


def flaw(document: object) -> str | None:
    """Why a document cannot be shown; None if it can."""
    return _flaw(document, _SHOWN)


def _flaw(document: object, shown: Iterable[Callable[[dict[str, Any]], Any]]) -> str | None:
    if not isinstance(document, dict):
        return "it is no object"
    for name, (wanted, is_right) in _FIELDS.items():
        if not is_right(document.get(name)):
            return f"its field {name!r} is not {wanted}"
    for show in shown:
        try:
            show(document)
        except Exception as error:  # whatever it is, it would be so in the list
            return f"{show.__name__.replace('_', ' ')} cannot be made of it ({type(error).__name__}: {error})"
    return None


def checked(document: dict[str, Any]) -> dict[str, Any]:
    """A document that lists can show; raises JobNotFoundError with the reason."""
    found = _flaw(document, _LISTED)
    if found is not None:
        raise JobNotFoundError(f"the document of job {str(document.get('id'))[:100]!r} cannot be shown: {found}")
    return document
