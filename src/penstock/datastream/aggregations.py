"""The rolling aggregations of a keyed stream (sum, min, max, min_by, max_by) as pure reduce functions.

The running value itself is kept by the reduce operator.
"""

from __future__ import annotations

import datetime
import numbers
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.datastream.selectors import Field, read_field, replace_field

_PLAIN_NUMBERS = frozenset({int, float})
_SCALARS = (numbers.Number, str, bytes, datetime.date, datetime.time, datetime.timedelta)


def _read(record: Any, field: Field) -> Any:
    if type(record) is tuple and type(field) is int and field < len(record):  # by far the most frequent: spared checks
        return record[field]
    # A plain value counts as its own position 0, as in Flink.
    if field == 0 and isinstance(record, _SCALARS):
        return record
    return read_field(record, field)


def _replace(record: Any, field: Field, value: Any) -> Any:
    if type(record) is tuple and type(field) is int:
        return (*record[:field], value, *record[field + 1 :])
    return value if isinstance(record, _SCALARS) else replace_field(record, field, value)


def _number(record: Any, field: Field) -> Any:
    value = _read(record, field)
    if type(value) not in _PLAIN_NUMBERS and not isinstance(value, numbers.Number):
        raise TypeError(f"sum: field {field!r} must be a number, got {value!r} of type {type(value).__name__}.")
    return value


def _precedes(left: Any, right: Any, field: Field, method: str) -> bool:
    try:
        return bool(left < right)
    except TypeError as error:
        raise TypeError(f"{method}: values {left!r} and {right!r} of field {field!r} cannot be ordered.") from error


@dataclass(frozen=True)
class RollingSum:
    """First element of the key with the field replaced by the sum so far."""

    keeps_first: ClassVar = True

    field: Field

    def __call__(self, current: Any, incoming: Any) -> Any:
        """Fold one more element in."""
        total = _number(current, self.field) + _number(incoming, self.field)
        return _replace(current, self.field, total)


@dataclass(frozen=True)
class RollingExtreme:
    """First element of the key with the field replaced by the smallest (or largest) value so far."""

    keeps_first: ClassVar = True

    field: Field
    largest: bool = False

    def __call__(self, current: Any, incoming: Any) -> Any:
        """Fold one more element in."""
        held, offered = _read(current, self.field), _read(incoming, self.field)
        if _is_better(offered, held, self.field, self.largest, "max" if self.largest else "min"):
            return _replace(current, self.field, offered)
        return current


@dataclass(frozen=True)
class RollingExtremeBy:
    """Whole element with the smallest (or largest) value of the field so far; the first one wins a tie."""

    field: Field
    largest: bool = False

    def __call__(self, current: Any, incoming: Any) -> Any:
        """Fold one more element in."""
        held, offered = _read(current, self.field), _read(incoming, self.field)
        method = "max_by" if self.largest else "min_by"
        return incoming if _is_better(offered, held, self.field, self.largest, method) else current


def _is_better(offered: Any, held: Any, field: Field, largest: bool, method: str) -> bool:
    return _precedes(held, offered, field, method) if largest else _precedes(offered, held, field, method)
